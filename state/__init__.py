"""The state of a shard: records of the topic, keys, the RocksDB store, images and digests."""
