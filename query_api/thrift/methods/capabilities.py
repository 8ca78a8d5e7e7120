"""What the metastore's default transformer shows of a table to clients with certain capabilities.

It notes in the table which access the client has, and which capabilities it lacks for more. To a
client that doesn't know Hive's current bucketing, some tables and partitions appear to have no
buckets.

| table | read and write with | read with | otherwise |
|---|---|---|---|
| external, no buckets | EXTREAD, EXTWRITE | EXTREAD | nothing |
| external, buckets | HIVEBUCKET2 | everybody, without the buckets | |
| managed, no write ids | everybody | | |
| insert-only | HIVEMANAGEDINSERTWRITE or CONNECTORWRITE | …READ | nothing |
| full ACID | HIVEFULLACIDWRITE or CONNECTORWRITE | …READ | nothing |
| view | | HIVESQL or CONNECTORREAD | nothing |
"""

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from hive.thrift.binary import extended
from hive.thrift.splice import without_buckets
from hive.thrift.structs import TABLE
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.table_traits import TableTraits

_ALL = "MANAGERAWMETADATA"
_UNMODIFIED = "ACCEPTS_UNMODIFIED_METADATA"
KNOWN: Final = frozenset(
    (
        "ACCEPTS_UNMODIFIED_METADATA",
        "CONNECTORREAD",
        "CONNECTORWRITE",
        "EXTERNAL_TABLES_ONLY",
        "EXTREAD",
        "EXTWRITE",
        "HIVEBUCKET2",
        "HIVECACHEINVALIDATE",
        "HIVEFULLACIDREAD",
        "HIVEFULLACIDWRITE",
        "HIVEMANAGEDINSERTREAD",
        "HIVEMANAGEDINSERTWRITE",
        "HIVEMANAGESTATS",
        "HIVEMQT",
        "HIVEONLYMQTWRITE",
        "HIVESQL",
        "ICEBERG",
        "MANAGERAWMETADATA",
        "MANAGE_RAW_METADATA",
        "SPARKSQL",
    )
)
"""All capabilities whose effect is known; any other is left to the metastore."""

_NONE, _READ_ONLY, _READ_WRITE = 1, 2, 8
_MANAGED_WRITE = ("HIVEMANAGESTATS", "HIVECACHEINVALIDATE", "CONNECTORWRITE")


class _View(NamedTuple):
    """The additions to a table, and whether its buckets are hidden."""

    access: int | None
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    hides_buckets: bool = False


def table_for(
    capabilities: Sequence[str], table: bytes, traits: TableTraits
) -> bytes | RelayReason:
    """The table as a client sees it. Empty `capabilities` mean that the client stated none."""
    if not capabilities or _ALL in capabilities or not traits.in_default_catalog:
        return table
    if traits.asks_for is not None or not KNOWN.issuperset(capabilities):
        return RelayReason.CAPABILITIES
    return _with_view(frozenset(capabilities), table, traits)


def partitions_lack_buckets(capabilities: Sequence[str], traits: TableTraits) -> bool | RelayReason:
    """Whether the partitions of a table appear to a client without buckets."""
    if not capabilities or _ALL in capabilities or not traits.in_default_catalog:
        return False
    if traits.asks_for is not None or not KNOWN.issuperset(capabilities):
        return RelayReason.CAPABILITIES
    if {"MANAGE_RAW_METADATA", "HIVEBUCKET2", _UNMODIFIED}.intersection(capabilities):
        return False
    plain = traits.type == "MANAGED_TABLE" and traits.transactional_text in ("", "false")
    return plain or traits.type == "EXTERNAL_TABLE"


@lru_cache(maxsize=1024)
def _with_view(
    capabilities: frozenset[str], table: bytes, traits: TableTraits
) -> bytes | RelayReason:
    view = _view(capabilities, traits)
    if isinstance(view, RelayReason):
        return view
    if view.hides_buckets:
        table = without_buckets(TABLE, table)
    fields = {
        "accessType": view.access,
        "requiredReadCapabilities": list(view.reads) or None,
        "requiredWriteCapabilities": list(view.writes) or None,
    }
    set_fields = {name: value for name, value in fields.items() if value is not None}
    return extended(TABLE, table, **set_fields)


def _view(capabilities: frozenset[str], traits: TableTraits) -> _View | RelayReason:
    match traits.type:
        case "EXTERNAL_TABLE":
            return _bucketed(capabilities) if traits.buckets > 0 else _external(capabilities)
        case "MANAGED_TABLE" if traits.transactional:
            kind = "MANAGEDINSERT" if traits.insert_only else "FULLACID"
            return _transactional(capabilities, kind)
        case "MANAGED_TABLE":
            return _View(_READ_WRITE if traits.transactional_text in ("", "false") else None)
        case "VIRTUAL_VIEW":
            readers = ("HIVESQL", "CONNECTORREAD")
            can_read = bool(capabilities.intersection(readers))
            return _View(_READ_ONLY) if can_read else _View(_NONE, readers)
    return RelayReason.CAPABILITIES


def _bucketed(capabilities: frozenset[str]) -> _View:
    if "HIVEBUCKET2" in capabilities:
        return _View(_READ_WRITE)
    hides = _UNMODIFIED not in capabilities
    return _View(_READ_ONLY, writes=("HIVEBUCKET2",), hides_buckets=hides)


def _external(capabilities: frozenset[str]) -> _View:
    if "EXTREAD" not in capabilities:
        return _View(_NONE, ("EXTREAD",), ("EXTWRITE",))
    if "EXTWRITE" not in capabilities:
        return _View(_READ_ONLY, writes=("EXTWRITE",))
    return _View(_READ_WRITE)


def _transactional(capabilities: frozenset[str], kind: str) -> _View:
    read, write = f"HIVE{kind}READ", f"HIVE{kind}WRITE"
    writes = (write, *_MANAGED_WRITE)
    if capabilities.intersection((write, "CONNECTORWRITE")):
        return _View(_READ_WRITE)
    if capabilities.intersection((read, "CONNECTORREAD")):
        return _View(_READ_ONLY, writes=writes)
    return _View(_NONE, ("CONNECTORREAD", read), writes)
