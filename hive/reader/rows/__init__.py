"""Rows of the metastore's tables → canonical Thrift bytes, by pure functions.

Rows are plain tuples as a driver gives them, with the fields that the types of this package name.
"""
