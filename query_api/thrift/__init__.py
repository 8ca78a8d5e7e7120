"""A server with the metastore's Thrift interface: it answers from the cache and relays the rest."""
