"""Assembles partitions, the most numerous objects, from encoded pieces.

`tests/hive/reader/test_rows.py` compares the result with `hive.thrift.binary.encode`.
"""

from functools import lru_cache
from struct import Struct as Packing
from typing import Any, NamedTuple

from hive.names import TableName
from hive.reader.rows.details import DetailKind, Details
from hive.reader.rows.storage import Storages, has_serde_details
from hive.thrift.splice import lacking_serde_details
from hive.thrift.types import I32, I64, LIST, MAP, STOP, STRING, STRUCT
from hive.thrift.wire import FIELD, PACK_I32, PACK_ITEMS, PACK_PAIRS

OWN_COLUMNS = 6
"""The number of columns in a row before those of its descriptor."""

_VALUES = FIELD.pack(LIST, 1)
_DESCRIPTOR = FIELD.pack(STRUCT, 6)
_PARAMETERS = FIELD.pack(MAP, 7)
_TIMES = Packing("!bhibhi")
_END = Packing("!bhqb")


class StoredPartition(NamedTuple):
    """A partition as the database holds it."""

    id: int
    name: str
    values: tuple[str, ...]
    write_id: int
    """The stored write id, even if nothing ever wrote the partition under an id."""
    columns: bytes
    """The encoded list of its columns."""
    data: bytes


def stored_partition(
    table: TableName, row: tuple[Any, ...], details: Details, storages: Storages
) -> StoredPartition:
    """The partition of a row: the table's id, its own id, name, times of creation and last access,
    write id, then the fields of `StorageRow`."""
    _, id_, name, created, accessed, write_id = row[:OWN_COLUMNS]
    values = details.names(DetailKind.PARTITION_VALUE, id_)
    names, catalog = _names(table)
    descriptor = storages.encoded(row[OWN_COLUMNS:], details)
    parts = [_VALUES, PACK_ITEMS.pack(STRING, len(values)), *map(_text, values), names]
    parts.append(_TIMES.pack(I32, 4, created or 0, I32, 5, accessed or 0))
    if descriptor is not None:
        parts += (_DESCRIPTOR, descriptor.at(row[OWN_COLUMNS + 3]))
    parameters = details.parameters(DetailKind.PARTITION_PARAMETER, id_)
    parts += (_PARAMETERS, PACK_PAIRS.pack(STRING, STRING, len(parameters)))
    for key in sorted(parameters):
        # Many values occur once.
        value = parameters[key].encode()
        parts += (_text(key), PACK_I32.pack(len(value)), value)
    stored = write_id if write_id and write_id > 0 else -1
    parts += (catalog, _END.pack(I64, 10, stored, STOP))
    columns = descriptor.columns if descriptor is not None else b""
    data = b"".join(parts)
    if has_serde_details(row):
        data = lacking_serde_details(data)
    return StoredPartition(id_, name, tuple(values), stored, columns, data)


@lru_cache(maxsize=16_384)
def _text(text: str) -> bytes:
    data = text.encode()
    return PACK_I32.pack(len(data)) + data


@lru_cache(maxsize=1_024)
def _names(table: TableName) -> tuple[bytes, bytes]:
    """The encoded fields between the values and the times, and the field of the catalog."""
    return (
        FIELD.pack(STRING, 2) + _text(table.db) + FIELD.pack(STRING, 3) + _text(table.table),
        FIELD.pack(STRING, 9) + _text(table.catalog),
    )
