"""Reads the metastore's database as the metastore does, in one snapshot and few statements.

`rows` turns what was read into canonical Thrift bytes, by pure functions.
"""
