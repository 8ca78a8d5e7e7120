"""Hive's metastores, clients and classes for tests."""
