"""Calls of Thrift in requests of HTTP, as Hive 4 speaks it."""
