"""A worker: its shards with their stores, within limits."""
