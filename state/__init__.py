"""One RocksDB a shard: records of the topic, keys, store, images, digests."""
