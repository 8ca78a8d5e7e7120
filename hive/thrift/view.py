"""A few fields of an object's canonical bytes, found by skipping, without building the object.

Fields go by ascending id there, so a search ends at the first id beyond the one looked for.
"""

from struct import Struct as Packing
from struct import error as packing_error

from hive.errors import ThriftError
from hive.thrift.types import I32, I64, LIST, MAP, STOP, STRING, STRUCT
from hive.thrift.wire import FIELD, PACK_I32, PACK_I64, PACK_ITEMS, PACK_PAIRS, skip


class View:
    """A struct that begins at `at` in some bytes. A field that isn't set is None."""

    __slots__ = ("_at", "_data")

    def __init__(self, data: bytes, at: int = 0) -> None:
        self._data = data
        self._at = at

    def raw(self, id_: int) -> bytes | None:
        """The bytes of a field, to compare it with another."""
        field = self._find(id_)
        if field is None:
            return None
        code, at = field
        return self._data[at : skip(self._data, at, code)]

    def text(self, id_: int) -> str | None:
        """The text in a field."""
        at = self._typed(id_, STRING)
        return None if at is None else self._text_at(at)[0]

    def i32(self, id_: int) -> int | None:
        """The 32-bit number in a field."""
        at = self._typed(id_, I32)
        return None if at is None else self._number(PACK_I32, at)

    def i64(self, id_: int) -> int | None:
        """The 64-bit number in a field."""
        at = self._typed(id_, I64)
        return None if at is None else self._number(PACK_I64, at)

    def struct(self, id_: int) -> "View | None":
        """The struct in a field."""
        at = self._typed(id_, STRUCT)
        return None if at is None else View(self._data, at)

    def ids(self) -> list[int]:
        """The ids of the fields that are set."""
        data, at, ids = self._data, self._at, []
        try:
            while data[at] != STOP:
                code, id_ = FIELD.unpack_from(data, at)
                ids.append(id_)
                at = skip(data, at + FIELD.size, code)
        except (IndexError, packing_error):
            raise _beyond(data) from None
        return ids

    def texts(self, id_: int) -> tuple[str, ...]:
        """The list of texts in a field; empty if it is not set."""
        at = self._typed(id_, LIST)
        if at is None:
            return ()
        item, count = self._counts(PACK_ITEMS, at)
        if count and item != STRING:
            raise ThriftError(f"no list of texts in field {id_}")
        at += PACK_ITEMS.size
        values = []
        for _ in range(count):
            value, at = self._text_at(at)
            values.append(value)
        return tuple(values)

    def structs(self, id_: int) -> tuple["View", ...]:
        """The list of structs in a field; empty if it is not set."""
        at = self._typed(id_, LIST)
        if at is None:
            return ()
        item, count = self._counts(PACK_ITEMS, at)
        if count and item != STRUCT:
            raise ThriftError(f"no list of structs in field {id_}")
        at += PACK_ITEMS.size
        views = []
        for _ in range(count):
            views.append(View(self._data, at))
            at = skip(self._data, at, STRUCT)
        return tuple(views)

    def in_map(self, id_: int, key: str) -> str | None:
        """The value of a key in a map of texts."""
        at = self._typed(id_, MAP)
        if at is None:
            return None
        key_code, value_code, count = self._counts(PACK_PAIRS, at)
        if count and (key_code, value_code) != (STRING, STRING):
            raise ThriftError(f"no map of texts in field {id_}")
        at += PACK_PAIRS.size
        for _ in range(count):
            entry_key, at = self._text_at(at)
            if entry_key == key:
                return self._text_at(at)[0]
            at = skip(self._data, at, STRING)
        return None

    def _find(self, id_: int) -> tuple[int, int] | None:
        """The type and position of a field's value."""
        data, at = self._data, self._at
        try:
            while data[at] != STOP:
                code, field_id = FIELD.unpack_from(data, at)
                at += FIELD.size
                if field_id >= id_:
                    return (code, at) if field_id == id_ else None
                at = skip(data, at, code)
        except (IndexError, packing_error):
            raise _beyond(data) from None
        return None

    def _typed(self, id_: int, code: int) -> int | None:
        field = self._find(id_)
        if field is None:
            return None
        if field[0] != code:
            raise ThriftError(f"field {id_} is of type {field[0]}, not {code}")
        return field[1]

    def _number(self, packing: Packing, at: int) -> int:
        try:
            value: int = packing.unpack_from(self._data, at)[0]
        except packing_error:
            raise ThriftError(f"a number ends beyond all {len(self._data)} bytes") from None
        return value

    def _counts(self, packing: Packing, at: int) -> tuple[int, ...]:
        try:
            *codes, count = packing.unpack_from(self._data, at)
        except packing_error:
            raise ThriftError(f"a length ends beyond all {len(self._data)} bytes") from None
        if not 0 <= count <= len(self._data) - at:
            raise ThriftError(f"a length of {count} at byte {at} of {len(self._data)}")
        return (*codes, count)

    def _text_at(self, at: int) -> tuple[str, int]:
        end = skip(self._data, at, STRING)
        try:
            return self._data[at + PACK_I32.size : end].decode(), end
        except UnicodeDecodeError as error:
            raise ThriftError(f"the text at byte {at} is no UTF-8: {error.reason}") from None


def _beyond(data: bytes) -> ThriftError:
    return ThriftError(f"a struct ends beyond all {len(data)} bytes")


class TableView(View):
    """A view of a Table."""

    __slots__ = ()

    @property
    def id(self) -> int:
        """The id of the table; 0 when unknown."""
        return self.i64(25) or 0

    @property
    def write_id(self) -> int:
        """The stored write id."""
        write_id = self.i64(19)
        return -1 if write_id is None else write_id

    @property
    def table_type(self) -> str:
        """The type: MANAGED_TABLE, EXTERNAL_TABLE, VIRTUAL_VIEW and so on."""
        return self.text(12) or ""

    @property
    def owner(self) -> str | None:
        return self.text(3)

    @property
    def location(self) -> str | None:
        """The location of the data."""
        descriptor = self.struct(7)
        return None if descriptor is None else descriptor.text(2)

    @property
    def columns(self) -> bytes | None:
        """The list of columns, to compare it with another."""
        descriptor = self.struct(7)
        return None if descriptor is None else descriptor.raw(1)

    @property
    def partition_keys(self) -> tuple[str, ...]:
        """The names of the partition columns."""
        return tuple(column.text(1) or "" for column in self.structs(8))

    def parameter(self, key: str) -> str | None:
        """The value of a table property."""
        return self.in_map(9, key)

    @property
    def transactional(self) -> bool:
        """Whether writes to the table have write ids."""
        return (self.parameter("transactional") or "").lower() == "true"


class PartitionView(View):
    """A view of a Partition."""

    __slots__ = ()

    @property
    def values(self) -> tuple[str, ...]:
        """The raw values."""
        return self.texts(1)

    @property
    def write_id(self) -> int:
        """The stored write id."""
        write_id = self.i64(10)
        return -1 if write_id is None else write_id

    @property
    def location(self) -> str | None:
        """The location of the data."""
        descriptor = self.struct(6)
        return None if descriptor is None else descriptor.text(2)

    @property
    def columns(self) -> bytes | None:
        """The list of columns, to compare it with another."""
        descriptor = self.struct(6)
        return None if descriptor is None else descriptor.raw(1)

    def parameter(self, key: str) -> str | None:
        """The value of a partition property."""
        return self.in_map(7, key)
