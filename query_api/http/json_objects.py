"""Mappings with the names of Hive's Thrift as JSON."""

from typing import Any, Final

import msgspec

_encode: Final = msgspec.json.Encoder().encode


def as_json(value: Any) -> bytes:
    """A mapping as JSON. Binary fields become base64; keys that are lists, as in skewed columns,
    become JSON texts.
    """
    try:
        return _encode(value)
    except TypeError:
        return _encode(_with_text_keys(value))


def _with_text_keys(value: Any) -> Any:
    if isinstance(value, dict):
        return {_text(key): _with_text_keys(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_with_text_keys(item) for item in value]
    return value


def _text(key: Any) -> Any:
    return _encode(key).decode() if isinstance(key, tuple) else key
