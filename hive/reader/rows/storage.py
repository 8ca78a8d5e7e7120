"""Storage descriptors.

The descriptors of a table's partitions mostly differ only in the location, though each has its own
ids in the database. So equal descriptors are encoded once, and the location is inserted.
"""

from typing import Any, NamedTuple

from hive.reader.rows.details import EMPTY, DetailKind, Details
from hive.reader.rows.flags import flag
from hive.thrift.binary import encode
from hive.thrift.canonical import STORED_COLUMN, STORED_DESCRIPTOR
from hive.thrift.types import STRING
from hive.thrift.view import View
from hive.thrift.wire import FIELD, PACK_I32

CACHED_MAX = 10_000
"""How many descriptors and lists of columns are cached; more wouldn't pay."""

_LOCATION = FIELD.pack(STRING, 2)
_UNLISTED = dict.fromkeys(("serde_description", "serializer", "deserializer", "serde_type"))
"""The fields of a serde that a read of several partitions leaves out."""
_NO_DETAILS = frozenset([(None, None, None, None), (None, None, None, 0)])


class StorageRow(NamedTuple):
    """A row of SDS outer-joined with SERDES: an object may have no descriptor."""

    id: int | None
    columns_id: int | None
    serde_id: int | None
    location: str | None
    input_format: str | None
    output_format: str | None
    compressed: object
    in_subdirectories: object
    buckets: int | None
    serde_name: str | None
    serde_library: str | None
    serde_description: str | None
    serializer: str | None
    deserializer: str | None
    serde_type: int | None


def has_serde_details(row: tuple[Any, ...]) -> bool:
    """Whether a row with the fields of `StorageRow` has some that a read of several partitions
    leaves out."""
    details = row[-len(_UNLISTED) :]
    # Nearly all rows have none, and there may be millions of them.
    return details not in _NO_DETAILS and any(value is not None and value != 0 for value in details)


class Encoded(NamedTuple):
    """The bytes of a descriptor around its location, and those of its list of columns."""

    head: bytes
    tail: bytes
    columns: bytes

    def at(self, location: str | None) -> bytes:
        """The descriptor with this location."""
        if location is None:
            return self.head + self.tail
        data = location.encode()
        return b"".join((self.head, _LOCATION, PACK_I32.pack(len(data)), data, self.tail))


def storage(row: StorageRow, details: Details) -> dict[str, Any] | None:
    """The descriptor as a mapping; None if the object has none."""
    if row.id is None:
        return None
    return {
        "cols": None
        if row.columns_id is None
        else columns(details, DetailKind.COLUMN, row.columns_id),
        "location": row.location,
        "inputFormat": row.input_format,
        "outputFormat": row.output_format,
        "compressed": flag(row.compressed),
        "numBuckets": row.buckets or 0,
        "serdeInfo": _serde(row, details),
        "bucketCols": details.names(DetailKind.BUCKET_COLUMN, row.id),
        "sortCols": [
            {"col": name or "", "order": int(order)}
            for _, _, _, name, order, _ in details.of(DetailKind.SORT_COLUMN, row.id)
            if order is not None
        ],
        "parameters": details.parameters(DetailKind.STORAGE_PARAMETER, row.id),
        "skewedInfo": _skew(row.id, details),
        "storedAsSubDirectories": flag(row.in_subdirectories),
    }


def columns(details: Details, kind: DetailKind, owner: int) -> list[dict[str, Any]]:
    """Columns or partition keys, in order."""
    return [
        {"name": name or "", "type": type_, "comment": comment}
        for _, _, _, name, type_, comment in details.of(kind, owner)
    ]


def _serde(row: StorageRow, details: Details) -> dict[str, Any] | None:
    if row.serde_id is None:
        return None
    return {
        "name": row.serde_name,
        "serializationLib": row.serde_library,
        "parameters": details.parameters(DetailKind.SERDE_PARAMETER, row.serde_id),
        "description": row.serde_description,
        "serializerClass": row.serializer,
        "deserializerClass": row.deserializer,
        "serdeType": row.serde_type or None,
    }


def _skew(id_: int, details: Details) -> dict[str, Any]:
    names = details.names(DetailKind.SKEWED_COLUMN, id_)
    values = _lists(details, DetailKind.SKEWED_VALUE, id_) if names else {}
    places = _lists(details, DetailKind.SKEWED_LOCATION, id_) if names else {}
    return {
        "skewedColNames": names,
        "skewedColValues": [values[place][0] for place in sorted(values)],
        "skewedColValueLocationMaps": {
            tuple(key): location or "" for key, location in places.values()
        },
    }


def _lists(
    details: Details, kind: DetailKind, owner: int
) -> dict[int, tuple[list[str], str | None]]:
    """The lists of values by their ids, each with the text that all its rows share."""
    lists: dict[int, tuple[list[str], str | None]] = {}
    for _, _, place, value, list_, text in details.of(kind, owner):
        assert list_ is not None
        list_and_text = lists.setdefault(int(list_), ([], text))
        if place != EMPTY:
            list_and_text[0].append(value or "")
    return lists


class Storages:
    """Encodes the descriptors of one snapshot, equal ones once."""

    def __init__(self) -> None:
        self._columns: dict[int, tuple[bytes, ...]] = {}
        self._encoded: dict[tuple[Any, ...], Encoded] = {}

    def unknown_columns(self, ids: set[int | None]) -> list[int]:
        """The ids of those lists of columns that haven't been read yet."""
        if len(self._columns) > CACHED_MAX:
            self._columns.clear()
        return sorted(id_ for id_ in ids if id_ is not None and id_ not in self._columns)

    def add_columns(self, ids: list[int], details: Details) -> None:
        """Keeps lists of columns; equal ones become the same object, so that they compare fast."""
        for id_ in ids:
            self._columns[id_] = tuple(
                encode(STORED_COLUMN, column) for column in columns(details, DetailKind.COLUMN, id_)
            )

    def encoded(self, row: tuple[Any, ...], details: Details) -> Encoded | None:
        """The descriptor of a row with the fields of `StorageRow`."""
        id_, columns_id, serde_id = row[0], row[1], row[2]
        if id_ is None:
            return None
        if details.of(DetailKind.SKEWED_COLUMN, id_):
            return self._encode(StorageRow(*row), details)
        key = (
            columns_id,
            row[4:],
            details.key(DetailKind.SERDE_PARAMETER, serde_id),
            details.key(DetailKind.STORAGE_PARAMETER, id_),
            details.key(DetailKind.BUCKET_COLUMN, id_),
            details.key(DetailKind.SORT_COLUMN, id_),
        )
        descriptor = self._encoded.get(key)
        if descriptor is None:
            if len(self._encoded) > CACHED_MAX:
                self._encoded.clear()
            descriptor = self._encoded[key] = self._encode(StorageRow(*row), details)
        return descriptor

    def _encode(self, row: StorageRow, details: Details) -> Encoded:
        mapping = storage(row._replace(columns_id=None, location=None, **_UNLISTED), details)
        assert mapping is not None
        cols = None if row.columns_id is None else list(self._columns[row.columns_id])
        data = encode(STORED_DESCRIPTOR, {**mapping, "cols": cols})
        raw = View(data).raw(1)
        split = 0 if raw is None else FIELD.size + len(raw)
        return Encoded(data[:split], data[split:], raw or b"")
