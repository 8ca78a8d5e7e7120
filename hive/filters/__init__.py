"""Filters of partitions: Hive's grammar, and what they mean on the raw values of partitions."""
