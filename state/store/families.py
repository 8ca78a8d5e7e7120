"""Which kinds of entries share a column family in the store of a shard.

A change here is another format: it goes with another `Identity.format_version`.
"""

from typing import Final

from state import keys
from state.store.options import KIB, Family

SHARD_FAMILIES: Final = (
    Family(name="partitions", kinds=keys.PARTITION, dictionary_bytes=16 * KIB),
    Family(
        name="statistics",
        kinds=keys.TABLE_STATISTICS + keys.PARTITION_STATISTICS,
        dictionary_bytes=16 * KIB,
    ),
    Family(name="names", kinds=keys.NAME),
)
