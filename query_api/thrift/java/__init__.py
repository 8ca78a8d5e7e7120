"""Hive's own Java code, for what only it can read."""
