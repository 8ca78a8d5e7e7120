"""The one form in which we keep an object, wherever it came from."""

from functools import cache
from typing import Any, NamedTuple

from hive.thrift.types import Struct, Type


class CanonicalField(NamedTuple):
    """A field as the canonical form has it: `default` stands in where the object has none."""

    id: int
    name: str
    type: Type
    default: Any


@cache
def canonical_fields(struct: Struct) -> tuple[CanonicalField, ...]:
    """The fields that the canonical form of a struct may hold, by ascending id."""
    return tuple(CanonicalField(f.id, f.name, f.type, None) for f in struct.fields)
