"""Answers reads: resolver, fallback, HTTP, Thrift."""
