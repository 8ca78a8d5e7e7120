"""Answers reads over HTTP and Thrift, from the cache or from the metastore's database."""
