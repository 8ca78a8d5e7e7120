"""Filters of partitions: Hive's grammar, and its meaning for the raw values of partitions."""
