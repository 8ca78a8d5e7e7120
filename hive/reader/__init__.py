"""Reads the metastore's database as the metastore does, in one snapshot and few statements.

`rows` turns rows into canonical Thrift bytes by pure functions.
"""
