"""A walk over all fields of a struct, from its description: each unset, set and set to another."""

from collections.abc import Iterator
from copy import deepcopy
from typing import Any, Final, NamedTuple

from hive.thrift.structs import TABLE
from hive.thrift.types import (
    BOOL,
    BYTE,
    DOUBLE,
    I16,
    I32,
    I64,
    Field,
    ListOf,
    MapOf,
    Struct,
    Type,
    binary,
)
from tests.support.hive import idl

DEPTH_MAX: Final = 4
_NUMBERS: Final = frozenset((BYTE, I16, I32, I64))
_VALID: Final[dict[str, tuple[Any, Any]]] = {
    # Names in lower case: several partitions altered at once keep what was sent.
    "FieldSchema.name": ("a", "walk"),
    "FieldSchema.type": ("int", "string"),
    "StorageDescriptor.location": ("{}/A", "{}/b"),
    "StorageDescriptor.bucketCols": (["a"], ["B"]),
    "Database.locationUri": ("{}/A", "{}/b"),
    "Database.managedLocationUri": ("{}/mA", "{}/mb"),
    "Table.tableType": ("EXTERNAL_TABLE", "Walk"),
    "Order.order": (0, 1),
    "Order.col": ("a", "b"),
    "SkewedInfo.skewedColNames": (["a"], ["A", "b"]),
    "SkewedInfo.skewedColValues": ([["x"]], [["x"], ["Y"]]),
    # The client here can't read maps whose keys are lists.
    "SkewedInfo.skewedColValueLocationMaps": ({}, {}),
}
"""Values where the metastore doesn't take any; `{}` is a folder."""


class Path(NamedTuple):
    """A field, by the names on the way there."""

    names: tuple[str, ...]
    values: tuple[Any, ...]

    def __str__(self) -> str:
        return ".".join(self.names)

    def put(self, of: Any, value: Any) -> Any:
        """A copy of a struct in which this field has another value."""
        changed = deepcopy(of)
        holder = changed
        for name in self.names[:-1]:
            holder = getattr(holder, name)
            holder = holder[0] if isinstance(holder, list) else holder
        setattr(holder, self.names[-1], deepcopy(value))
        return changed


def walk(struct: Struct, folder: str, base: Any) -> Iterator[Path]:
    """Every field of a struct and of those within it, as far as `base` has them."""
    yield from _walk(struct, folder, base, ())


def _walk(struct: Struct, folder: str, base: Any, before: tuple[str, ...]) -> Iterator[Path]:
    for field in struct.fields:
        names = (*before, field.name)
        values = tuple(_field(struct, field, folder, number, 0) for number in range(2))
        yield Path(names, values)
        value = getattr(base, field.name)
        inner = field.type.item if isinstance(field.type, ListOf) else field.type
        if isinstance(value, list):
            value = value[0] if value else None
        if isinstance(inner, Struct) and value is not None:
            yield from _walk(inner, folder, value, names)


def _field(struct: Struct, field: Field, folder: str, number: int, depth: int) -> Any:
    valid = _VALID.get(f"{struct.name}.{field.name}")
    if valid is None:
        return _value(field.type, folder, number, depth)
    return valid[number].format(folder) if isinstance(valid[number], str) else valid[number]


def _value(type_: Type, folder: str, number: int, depth: int) -> Any:
    """A value of this type; those of two numbers differ."""
    if isinstance(type_, Struct):
        if depth == DEPTH_MAX or type_ is TABLE:
            return None
        made = getattr(idl.load(), type_.name)()
        for field in type_.fields:
            setattr(made, field.name, _field(type_, field, folder, number, depth + 1))
        return made
    if isinstance(type_, ListOf):
        items = [_value(type_.item, folder, one, depth + 1) for one in range(number + 1)]
        return [one for one in items if one is not None]
    if isinstance(type_, MapOf):
        key, value = (_value(one, folder, number, depth + 1) for one in (type_.key, type_.value))
        return {tuple(key) if isinstance(key, list) else key: value}
    if type_ is binary:
        return b"\0" if number else b"a"
    if type_.code == BOOL:
        return not number
    if type_.code == DOUBLE:
        return number + 0.5
    if type_.code in _NUMBERS:
        return number + 1
    return "Walk Ä" if number else "other"
