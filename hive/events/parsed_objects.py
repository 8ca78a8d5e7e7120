"""Parses the TJSON of tables and partitions, whose storage descriptors are mostly equal.

A descriptor is most of an object, and the objects of a table have the same but for its location. So
the text of a descriptor is cut out and looked up, and only the rest is parsed.

How a descriptor is found in a text doesn't matter to the result: if the piece that was cut out is a
value by itself, and a mark in its place turns up as the object's descriptor, then it was that.
"""

from typing import Any, Final, NamedTuple

from hive.errors import ThriftError
from hive.thrift.shared_descriptor import LOCATION, DescriptorShape, SharedDescriptor
from hive.thrift.tjson import loads

_MARK: Final = "the descriptor"
"""A text, which no object has as its descriptor."""
_AFTER_COLUMNS: Final = ']},"2":{"str":"'
_TEXT_CHARS_MAX: Final = 16_384
_SHAPES_MAX: Final = 1_000


class _Holder(NamedTuple):
    """The texts around the descriptor of a kind of object, as Hive writes them."""

    field: str
    opening: str
    closing: str


_PARTITION: Final = _Holder("6", '"6":{"rec":', '},"7":{"map":')
_TABLE: Final = _Holder("7", '"7":{"rec":', '},"8":{"lst":["rec",')


_shapes: dict[str, DescriptorShape] = {}
"""The shapes by their texts with an empty location."""


def load_partition(text: str) -> Any:
    """The parsed TJSON of a partition."""
    return _load(text, _PARTITION)


def load_table(text: str) -> Any:
    """The parsed TJSON of a table."""
    return _load(text, _TABLE)


def _load(text: str, holder: _Holder) -> Any:
    value = _with_shared_descriptor(text, holder)
    return loads(text) if value is None else value


def _with_shared_descriptor(text: str, holder: _Holder) -> Any:
    """The parsed object; None if it must be parsed as a whole."""
    try:
        start = text.index(holder.opening) + len(holder.opening)
        first = text.index(_AFTER_COLUMNS, start) + len(_AFTER_COLUMNS)
        last = text.index('"', first)
        end = text.index(holder.closing, last)
    except ValueError:
        return None
    location = text[first:last]
    # Another location may be escaped, or be refused by a parser.
    if not (location.isascii() and location.isprintable()) or "\\" in location:
        return None
    shape = _shape(text[start:first] + text[last:end])
    if shape is None:
        return None
    try:
        value = loads(f'{text[:start]}"{_MARK}"{text[end:]}')
    except ThriftError:
        return None
    typed = value.get(holder.field) if isinstance(value, dict) else None
    if typed != {"rec": _MARK}:
        return None
    typed["rec"] = SharedDescriptor(shape, location)
    return value


def _shape(text: str) -> DescriptorShape | None:
    """The shape in the text of a descriptor with an empty location; None if it isn't one."""
    shape = _shapes.get(text)
    if shape is None and len(text) <= _TEXT_CHARS_MAX:
        try:
            fields = loads(text)
        except ThriftError:
            return None
        if not isinstance(fields, dict) or fields.get(LOCATION) != {"str": ""}:
            return None
        shape = DescriptorShape(fields)
        if len(_shapes) >= _SHAPES_MAX:
            _shapes.clear()
        _shapes[text] = shape
    return shape
