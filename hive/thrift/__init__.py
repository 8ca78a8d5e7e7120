"""Hive's objects as Thrift bytes in one canonical form."""
