"""A server that speaks as a metastore does: answers of the cache, and a metastore behind it."""
