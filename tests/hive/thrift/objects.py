"""Random objects of a struct, as Hypothesis strategies from our descriptions."""

from functools import cache
from typing import Any

from hypothesis import strategies as st

from hive.thrift import structs
from hive.thrift.types import (
    BOOL,
    BYTE,
    DOUBLE,
    I16,
    I32,
    SET,
    ListOf,
    MapOf,
    Struct,
    Type,
    binary,
    string,
)

DEPTH_MAX = 4
STRUCTS: list[Struct] = [
    value for name in structs.__all__ if isinstance(value := getattr(structs, name), Struct)
]
# Words that rules look at, so that chance finds them.
WORDS = [
    "transactional",
    "transactional_properties",
    "insert_only",
    "true",
    "TRUE",
    "EXTERNAL",
    "MANAGED_TABLE",
    "EXTERNAL_TABLE",
    "VIRTUAL_VIEW",
    "Name",
]
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6) | st.sampled_from(WORDS)
BITS = {BYTE: 8, I16: 16, I32: 32}


@cache
def values(type_: Type, depth: int = 0) -> st.SearchStrategy[Any]:
    """Values of a type."""
    if isinstance(type_, Struct):
        fields = () if depth > DEPTH_MAX else type_.fields
        optional = {field.name: values(field.type, depth + 1) for field in fields}
        return st.fixed_dictionaries({}, optional=optional)
    if isinstance(type_, ListOf):
        items = values(type_.item, depth + 1)
        return st.lists(items, max_size=3, unique=type_.code == SET)
    if isinstance(type_, MapOf):
        keys = values(type_.key, depth + 1)
        if isinstance(type_.key, ListOf):
            keys = keys.map(tuple)
        return st.dictionaries(keys, values(type_.value, depth + 1), max_size=4)
    if type_ is string:
        return TEXTS
    if type_ is binary:
        return st.binary(max_size=5)
    if type_.code == BOOL:
        return st.booleans()
    if type_.code == DOUBLE:
        return st.floats(allow_nan=False)
    half = 1 << (BITS.get(type_.code, 64) - 1)
    return st.integers(-half, half - 1)


STRUCT_AND_OBJECT = st.sampled_from(STRUCTS).flatmap(
    lambda struct: st.tuples(st.just(struct), values(struct))
)
