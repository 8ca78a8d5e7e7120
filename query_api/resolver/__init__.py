"""Whether the cache may answer."""
