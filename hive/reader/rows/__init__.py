"""Turns rows of the metastore's tables into canonical Thrift bytes by pure functions.

Rows are plain tuples as a driver gives them, with the fields that the types of this package name.
"""
