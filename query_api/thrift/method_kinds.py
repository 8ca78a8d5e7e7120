"""Which methods of the interface only read, by their names."""

from typing import Final

_PREFIXES: Final = ("get_", "list_", "show_", "partition_name_", "heartbeat")
_OTHER_READS: Final = frozenset(
    (
        *("getMetaConf", "getName", "getStatus", "getVersion", "setMetaConf", "set_ugi"),
        *("fetch_partition_names_req", "find_columns_with_stats", "isPartitionMarkedForEvent"),
    )
)
# Their names are like those of reads, but they create something.
_WRITES: Final = frozenset(("get_delegation_token", "get_lock_materialization_rebuild"))


def is_read(method: str) -> bool:
    """Whether a method may be called twice without harm and changes nothing that the cache holds.

    An unknown method counts as a write, unless its name is like those of reads.
    """
    if method in _WRITES:
        return False
    return method.startswith(_PREFIXES) or method in _OTHER_READS
