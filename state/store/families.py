"""The kinds of entries that share a column family in the store of a shard.

A change here, or of what the fold writes, is a change of format and needs another STORE_FORMAT.
"""

from typing import Final

from hive.units import KIB
from state import keys
from state.store.metadata import Identity
from state.store.options import Family
from state.topic import Topic

STORE_FORMAT: Final = 8
"""The `Identity.format_version` of shards' stores."""

SHARD_FAMILIES: Final = (
    Family(
        name="partitions", kinds=keys.PARTITION, block_bytes=32 * KIB, dictionary_bytes=16 * KIB
    ),
    Family(
        name="statistics",
        kinds=keys.TABLE_STATISTICS + keys.PARTITION_STATISTICS,
        dictionary_bytes=16 * KIB,
    ),
    Family(name="names", kinds=keys.NAME),
)


def shard_identity(topic: Topic, shard: int) -> Identity:
    """The identity of the store of a shard; the brokers must have described the topic."""
    assert topic.id is not None
    return Identity(
        format_version=STORE_FORMAT, topic_id=topic.id, partitions=topic.shards, shard=shard
    )
