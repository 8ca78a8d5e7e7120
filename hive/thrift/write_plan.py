"""Prepares a struct's fields for both writers, that of mappings and that of TJSON."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, NamedTuple

from hive.thrift.canonical import canonical_fields
from hive.thrift.types import Struct, Type, string
from hive.thrift.wire import FIELD

Append = Callable[[bytes], None]
Write = Callable[[Any, Append], None]


_NAME_CHARS_MAX: Final = 256
_NAMES_MAX: Final = 8_192


class PlannedField(NamedTuple):
    """A field to write: `absent`, with its header, is written if the object has no value."""

    id: int
    name: str
    kind: str
    header: bytes
    write: Write
    absent: bytes
    fixed: bool


def plan(
    struct: Struct, writer: Callable[[Type], Write], value_writer: Callable[[Type], Write]
) -> list[PlannedField]:
    """The fields of a struct with their writers; defaults are written by `value_writer`."""
    planned = []
    for field in canonical_fields(struct):
        header = FIELD.pack(field.type.code, field.id)
        absent: list[bytes] = []
        if field.default is not None:
            absent.append(header)
            value_writer(field.type)(field.default, absent.append)
        write = writer(field.type)
        if field.fold is not None:
            write = (_folded_name if field.type is string else _folded)(write, field.fold)
        planned.append(
            PlannedField(
                field.id,
                field.name,
                field.type.json_name,
                header,
                write,
                b"".join(absent),
                field.fixed,
            )
        )
    return planned


def _folded(write: Write, fold: Callable[[Any], Any]) -> Write:
    def write_folded(value: Any, append: Append) -> None:
        write(fold(value), append)

    return write_folded


def _folded_name(write: Write, fold: Callable[[str], str]) -> Write:
    """Writes names, which objects share: to remember one takes less time than to encode it."""

    @lru_cache(maxsize=_NAMES_MAX)
    def encoded(name: str) -> bytes:
        parts: list[bytes] = []
        write(fold(name), parts.append)
        return b"".join(parts)

    def write_name(name: str, append: Append) -> None:
        if len(name) <= _NAME_CHARS_MAX:
            append(encoded(name))
        else:
            write(fold(name), append)

    return write_name
