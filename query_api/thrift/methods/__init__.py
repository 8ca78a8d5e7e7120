"""What the metastore's methods ask for, and how the cache's answers to them are written."""

from query_api.thrift.methods.cached_methods import CachedMethods

__all__ = ["CachedMethods"]
