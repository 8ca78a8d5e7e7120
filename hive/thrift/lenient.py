"""Reads Hive's JSON, including what isn't JSON.

Hive's mapper leaves control characters in texts unescaped, and Thrift's TJSONProtocol writes a map
whose keys are lists (the locations of skewed values) as `{["str",1,"a"]:"file:/x"}`.
"""

import re
from json import JSONDecoder
from typing import Any

from hive.errors import ThriftError

_SPACE = re.compile(r"[ \t\n\r]*")
_SCALARS = JSONDecoder(strict=False)
_DEPTH_MAX = 128


def loads(text: str) -> Any:
    """The value of a text; a list used as a key becomes a tuple."""
    try:
        value, at = _value(text, _skip(text, 0), 0)
    except (IndexError, ValueError) as error:
        raise ThriftError(f"no JSON: {error}") from None
    if _skip(text, at) != len(text):
        raise ThriftError(f"no JSON: more after the value, at character {at}")
    return value


def _skip(text: str, at: int) -> int:
    space = _SPACE.match(text, at)
    assert space is not None
    return space.end()


def _value(text: str, at: int, depth: int) -> tuple[Any, int]:
    if depth > _DEPTH_MAX:
        raise ThriftError(f"more than {_DEPTH_MAX} levels at character {at}")
    if text[at] == "{":
        return _object(text, at + 1, depth + 1)
    if text[at] == "[":
        return _array(text, at + 1, depth + 1)
    return _SCALARS.raw_decode(text, at)


def _object(text: str, at: int, depth: int) -> tuple[dict[Any, Any], int]:
    items: dict[Any, Any] = {}
    at = _skip(text, at)
    if text[at] == "}":
        return items, at + 1
    while True:
        key, at = _value(text, _skip(text, at), depth)
        at = _skip(text, at)
        if text[at] != ":":
            raise ValueError(f"a colon expected at character {at}")
        value, at = _value(text, _skip(text, at + 1), depth)
        if isinstance(key, dict) or (isinstance(key, list) and not all(map(_plain, key))):
            raise ValueError(f"a key of structs at character {at}")
        items[tuple(key) if isinstance(key, list) else key] = value
        at = _skip(text, at)
        if text[at] == "}":
            return items, at + 1
        at = _comma(text, at)


def _array(text: str, at: int, depth: int) -> tuple[list[Any], int]:
    items: list[Any] = []
    at = _skip(text, at)
    if text[at] == "]":
        return items, at + 1
    while True:
        value, at = _value(text, _skip(text, at), depth)
        items.append(value)
        at = _skip(text, at)
        if text[at] == "]":
            return items, at + 1
        at = _comma(text, at)


def _plain(value: object) -> bool:
    return not isinstance(value, (dict, list))


def _comma(text: str, at: int) -> int:
    if text[at] != ",":
        raise ValueError(f"a comma expected at character {at}")
    return at + 1
