"""Tells by its name whether a method only reads."""

from typing import Final

_PREFIXES: Final = ("get_", "list_", "show_", "partition_name_", "heartbeat")
_OTHER_READS: Final = frozenset(
    (
        *("getMetaConf", "getName", "getStatus", "getVersion", "setMetaConf", "set_ugi"),
        *("fetch_partition_names_req", "find_columns_with_stats", "isPartitionMarkedForEvent"),
    )
)
# These have names like reads, but create something.
_WRITES: Final = frozenset(("get_delegation_token", "get_lock_materialization_rebuild"))


def is_read(method: str) -> bool:
    """Whether a method changes nothing that the cache holds, and may be called twice without harm.

    An unknown method counts as a write, unless its name is like those of reads.
    """
    if method in _WRITES:
        return False
    return method.startswith(_PREFIXES) or method in _OTHER_READS
