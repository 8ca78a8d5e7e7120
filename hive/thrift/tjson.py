"""TJSONProtocol texts → canonical TBinaryProtocol bytes, and mappings → TJSON.

TJSON has field ids and types, so a text is almost enough to write its bytes. But binary fields (bit
vectors, histograms and decimals of column statistics) are base64, which looks like text, and the
rules of the canonical form depend on the field. So `transcode` takes the struct's description.
Fields that the description lacks are written by the types in the text, as is the whole object
without a description (`None`).
"""

import math
from base64 import b64encode
from collections.abc import Iterator, Mapping
from struct import error as packing_error
from typing import Any, Final

import orjson

from hive.errors import ThriftError
from hive.thrift import lenient
from hive.thrift.json_writers import json_writer, write_undescribed
from hive.thrift.types import BOOL, DOUBLE, ListOf, MapOf, Struct, Type, binary, string

DECODE_FAILURES: Final = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RecursionError,
    TypeError,
    ValueError,
    packing_error,
)
"""What a value of another form than the expected one raises, beside errors that say so."""


def loads(text: str | bytes) -> Any:
    """The value of a JSON text, including texts that only Hive's own mapper reads.

    JSON may hold half of a surrogate pair, which nothing can encode. orjson refuses it, and so must
    whatever reads what orjson doesn't.
    """
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        value = lenient.loads(text if isinstance(text, str) else _decoded(text))
    try:
        for part in _texts_in(value):
            part.encode()
    except UnicodeEncodeError as error:
        raise ThriftError(f"no JSON: {error.reason}") from None
    return value


def _texts_in(value: Any) -> Iterator[str]:
    """All texts in a value, keys included."""
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, str):
            yield part
        elif isinstance(part, dict):
            parts += [*part.keys(), *part.values()]
        elif isinstance(part, list | tuple):
            parts += part


def _decoded(text: bytes) -> str:
    try:
        return text.decode()
    except UnicodeDecodeError as error:
        raise ThriftError(f"no JSON: {error.reason} at byte {error.start}") from None


def transcode(struct: Struct | None, text: str) -> bytes:
    """The canonical bytes of the object in a TJSON text."""
    return transcode_value(struct, loads(text))


def transcode_value(struct: Struct | None, value: dict[str, Any]) -> bytes:
    """The canonical bytes of the object in parsed TJSON."""
    parts: list[bytes] = []
    try:
        if struct is None:
            write_undescribed(value, parts.append)
        else:
            json_writer(struct)(value, parts.append)
    except (*DECODE_FAILURES, ThriftError) as error:
        what = "struct" if struct is None else struct.name
        kind = "" if isinstance(error, ThriftError) else f"{type(error).__name__} "
        raise ThriftError(f"TJSON that is no {what}: {kind}{error}") from None
    return b"".join(parts)


def dumps(struct: Struct, mapping: Mapping[str, Any]) -> str:
    """The TJSON text of a mapping with the IDL's names, as Hive writes it, without the canonical
    rules."""
    try:
        return _dump(struct, mapping)
    except (*DECODE_FAILURES, orjson.JSONEncodeError) as error:
        raise ThriftError(f"a mapping that is no {struct.name}: {error}") from None


def _dump(type_: Type, value: Any) -> str:
    if isinstance(type_, Struct):
        unknown = value.keys() - {field.name for field in type_.fields}
        if unknown:
            raise ThriftError(f"{type_.name} has no field {min(unknown)!r}")
        fields = (
            f'"{field.id}":{{"{field.type.json_name}":{_dump(field.type, value[field.name])}}}'
            for field in type_.fields
            if value.get(field.name) is not None
        )
        return f"{{{','.join(fields)}}}"
    if isinstance(type_, ListOf):
        items = "".join(f",{_dump(type_.item, item)}" for item in value)
        return f'["{type_.item.json_name}",{len(value)}{items}]'
    if isinstance(type_, MapOf):
        pairs = (f"{_dump(type_.key, k)}:{_dump(type_.value, v)}" for k, v in value.items())
        kinds = f'"{type_.key.json_name}","{type_.value.json_name}"'
        return f"[{kinds},{len(value)},{{{','.join(pairs)}}}]"
    return _dump_scalar(type_, value)


def _dump_scalar(type_: Type, value: Any) -> str:
    if type_ is string:
        return orjson.dumps(str(value)).decode()
    if type_ is binary:
        return f'"{b64encode(value).rstrip(b"=").decode()}"'
    if type_.code == BOOL:
        return "1" if value else "0"
    if type_.code != DOUBLE:
        return str(int(value))
    if math.isfinite(value):
        return repr(float(value))
    return '"NaN"' if math.isnan(value) else f'"{"-" if value < 0 else ""}Infinity"'
