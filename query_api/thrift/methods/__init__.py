"""The metastore's methods: what each asks for, and how the cache's answer is written."""

from query_api.thrift.methods.cached_methods import CachedMethods

__all__ = ["CachedMethods"]
