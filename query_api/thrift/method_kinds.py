"""Tells by its name whether a method only reads, and whether answers may change by it."""

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


# They change only what the database is asked for anew each time, such as which transactions are
# open. Each query of Hive calls some of these before it reads, and the log has events of them.
_WITHOUT_EFFECT: Final = frozenset(
    (
        *("add_dynamic_partitions", "add_write_ids_to_min_history", "check_lock", "flushCache"),
        *("lock", "open_txns", "unlock"),
    )
)


def may_change_answers(method: str) -> bool:
    """Whether answers from the cache may change by a call of the method."""
    return method not in _WITHOUT_EFFECT and not is_read(method)
