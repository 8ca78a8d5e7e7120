"""Which methods of the interface change nothing, told from their names."""

from typing import Final

_PREFIXES: Final = ("get_", "list_", "show_", "partition_name_", "heartbeat")
_OTHER_READS: Final = frozenset(
    (
        *("getMetaConf", "getName", "getStatus", "getVersion", "setMetaConf", "set_ugi"),
        *("fetch_partition_names_req", "find_columns_with_stats", "isPartitionMarkedForEvent"),
    )
)
# They look like reads, and make something.
_WRITES: Final = frozenset(("get_delegation_token", "get_lock_materialization_rebuild"))


def is_read(method: str) -> bool:
    """Whether asking twice does no harm, and nothing that the cache holds is changed.

    A method that isn't known is taken for one that writes, unless it is named as reads are.
    """
    if method in _WRITES:
        return False
    return method.startswith(_PREFIXES) or method in _OTHER_READS
