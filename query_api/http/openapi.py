"""The OpenAPI 3.1 document, made from the endpoints and from Hive's structs.

`python -m query_api.http.openapi` writes it to `openapi.json`, beside this file.
"""

import json
import re
from typing import Any, Final

from hive.thrift.constraints import ALL_TABLE_CONSTRAINTS
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import DATABASE, FUNCTION, PARTITION, TABLE
from hive.thrift.types import ListOf, MapOf, SetOf, Struct, Type, binary, boolean, double, string
from query_api.http import operations
from query_api.http.endpoints import DOCUMENT, ENDPOINTS, Endpoint
from query_api.reasons import Reason, Source
from query_api.requirement import WAIT_MS_MAX, Consistency

_ROOTS: Final = (
    TABLE,
    PARTITION,
    DATABASE,
    FUNCTION,
    COLUMN_STATISTICS_OBJ,
    ALL_TABLE_CONSTRAINTS,
)
_SCALARS: Final[dict[Type, dict[str, Any]]] = {
    string: {"type": "string"},
    binary: {"type": "string", "contentEncoding": "base64"},
    boolean: {"type": "boolean"},
    double: {"type": "number"},
}
_TEXT: Final[dict[str, Any]] = {"type": "string"}
_PARAMETERS: Final[dict[str, tuple[str, dict[str, Any], Any]]] = {
    "consistency": (
        "How fresh the answer must be. Without it: write_ids when a list and a positive table id "
        "are given, else what the deployment sets, which is latest unless it says otherwise.",
        {"type": "string", "enum": list(Consistency)},
        "latest",
    ),
    "write_ids": (
        "The ValidReaderWriteIdList by which the caller reads; also in short, as [12:7,8,12].",
        _TEXT,
        "sales.orders:12:7:7,12:8",
    ),
    "table_id": ("The id of the table that the caller knows.", {"type": "integer"}, 5),
    "accept_newer": (
        "With write_ids: the answer may contain more commits than the list.",
        {"type": "boolean"},
        True,
    ),
    "min_position": (
        "The answer must be at least as new as this Metatide-Position.",
        {"type": "string", "pattern": "^[0-9]+:[0-9]+$"},
        "0:1234",
    ),
    "max_wait_ms": (
        "How long to wait for the cache before the database is asked.",
        {"type": "integer", "minimum": 0, "maximum": WAIT_MS_MAX},
        50,
    ),
    "catalog": ("The catalog; hive when it is not given.", _TEXT, "hive"),
    "pattern": ("Hive's pattern: * for any characters, | between alternatives.", _TEXT, "ord*"),
    "database": ("Hive's pattern of databases.", _TEXT, "sales*"),
    "type": ("A table type; may be repeated.", _TEXT, "MANAGED_TABLE"),
    "after": ("The page after this name, as the field next of the page before gave it.", _TEXT, ""),
    "limit": ("How many at most.", {"type": "integer", "minimum": 1}, 100),
    "filter": (
        "A filter as Hive's get_partitions_by_filter takes it.",
        _TEXT,
        "ds >= '2026-01-01'",
    ),
    "prefix": ("The first values of partitions, each once; empty for any.", _TEXT, "2026-01-01"),
    "name": ("A name; may be repeated.", _TEXT, "ds=2026-01-01"),
    "column": ("The name of a column; may be repeated.", _TEXT, "amount"),
    "engine": ("The engine that computed the statistics.", _TEXT, "hive"),
    "table": ("A table, as db.table or catalog.db.table; may be repeated.", _TEXT, "sales.orders"),
    "txns": ("A ValidTxnList; without it, that of a reader who begins now.", _TEXT, "12:7:7:"),
}
_REPEATED: Final = frozenset(("type", "prefix", "name", "column", "table"))
_REQUIREMENTS: Final = (
    "consistency",
    "write_ids",
    "table_id",
    "accept_newer",
    "min_position",
    "max_wait_ms",
)
_PATH: Final = {"db": "sales", "table": "orders", "name": "ds=2026-01-01", "function": "to_euro"}


def document() -> dict[str, Any]:
    """The whole document."""
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Metatide",
            "version": "1",
            "description": "A never-stale cache for Apache Hive Metastore. Objects have the field "
            "names of Hive's Thrift. Each requirement may also be given as a header, for example "
            "`Metatide-Min-Position`.",
        },
        "paths": {
            **{re.sub(":path", "", one.path): _path(one) for one in ENDPOINTS},
            **operations.described({status: _problem(what) for status, what in _PROBLEMS.items()}),
        },
        "components": {
            "schemas": {
                **_schemas(),
                **operations.schemas(),
                "Problem": _PROBLEM,
                "Names": _NAMES,
            },
            "headers": _HEADERS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
        "security": [{}, {"token": []}],
    }


def text() -> str:
    """The document as it is committed."""
    return json.dumps(document(), indent=1) + "\n"


def _path(endpoint: Endpoint) -> dict[str, Any]:
    operations = {"get": _operation(endpoint, "")}
    if endpoint.has_body:
        operations["post"] = {
            **_operation(endpoint, "ByNames"),
            "requestBody": {
                "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Names"}}}
            },
        }
    return operations


def _operation(endpoint: Endpoint, suffix: str) -> dict[str, Any]:
    in_path = re.findall(r"\{(\w+)", endpoint.path)
    content: dict[str, Any] = {"application/json": {"schema": _answer(endpoint)}}
    if endpoint.lines is not None:
        content["application/x-ndjson"] = {"schema": _TEXT}
    return {
        "operationId": _operation_id(endpoint) + suffix,
        "summary": endpoint.summary,
        "parameters": [
            *(
                {"name": n, "in": "path", "required": True, "schema": _TEXT, "example": _PATH[n]}
                for n in in_path
            ),
            *map(_parameter, (*endpoint.parameters, *_REQUIREMENTS)),
        ],
        "responses": {
            "200": {
                "description": "The answer",
                "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS},
                "content": content,
            },
            "304": {"description": "The answer is the one that If-None-Match names"},
            **{status: _problem(what) for status, what in _PROBLEMS.items() if status != "403"},
        },
    }


def _operation_id(endpoint: Endpoint) -> str:
    words: list[str] = re.findall(r"[a-z]+", re.sub(r"\{\w+(:path)?\}", "one", endpoint.path[4:]))
    return words[0] + "".join(word.capitalize() for word in words[1:])


def _parameter(name: str) -> dict[str, Any]:
    description, schema, example = _PARAMETERS[name]
    repeated = name in _REPEATED
    return {
        "name": name,
        "in": "query",
        "description": description,
        "schema": {"type": "array", "items": schema} if repeated else schema,
        "example": [example] if repeated else example,
    }


def _answer(endpoint: Endpoint) -> dict[str, Any]:
    field, _, item = endpoint.answer.partition(":")
    if field[0].isupper():
        return {"$ref": f"#/components/schemas/{field}"}
    if item:
        schema: dict[str, Any] = {
            "type": "array",
            "items": {"$ref": f"#/components/schemas/{item}"},
        }
        return {"type": "object", "properties": {field: schema}, "required": [field]}
    return {"type": "object", "required": [field]}


def _schemas() -> dict[str, Any]:
    """The structs, and those that they are made of."""
    found: dict[str, Any] = {}
    waiting = list(_ROOTS)
    while waiting:
        struct = waiting.pop()
        if struct.name not in found:
            fields = {field.name: _schema(field.type, waiting) for field in struct.fields}
            found[struct.name] = {"type": "object", "properties": fields}
    return dict(sorted(found.items()))


def _schema(kind: Type, waiting: list[Struct]) -> dict[str, Any]:
    match kind:
        case Struct():
            waiting.append(kind)
            return {"$ref": f"#/components/schemas/{kind.name}"}
        case ListOf() | SetOf():
            return {"type": "array", "items": _schema(kind.item, waiting)}
        case MapOf():
            values = _schema(kind.value, waiting)
            return {"type": "object", "additionalProperties": values}
    return _SCALARS.get(kind, {"type": "integer"})


def _problem(what: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    return {"description": what, "content": {"application/problem+json": {"schema": schema}}}


_PROBLEMS: Final = {
    "400": "The request makes no sense",
    "401": "The token is not known",
    "403": "Only for administrators, see docs/operate.md",
    "404": "There is no such object",
    "413": "Too long, or too many names",
    "503": "Neither cache nor database can answer now",
}
_PROBLEM: Final = {
    "type": "object",
    "description": "RFC 9457",
    "properties": {
        "type": _TEXT,
        "title": _TEXT,
        "status": {"type": "integer"},
        "detail": _TEXT,
    },
    "required": ["type", "title", "status", "detail"],
}
_NAMES: Final = {
    "type": "object",
    "description": "What may be too long for a URL",
    "properties": {
        "names": {"type": "array", "items": _TEXT},
        "filter": _TEXT,
        "write_ids": _TEXT,
    },
    "additionalProperties": False,
}
_HEADERS: Final = {
    "Metatide-Source": {
        "description": "Who answered",
        "schema": {"type": "string", "enum": list(Source)},
    },
    "Metatide-Reason": {
        "description": "Why the cache answered, or why it did not",
        "schema": {"type": "string", "enum": list(Reason)},
    },
    "Metatide-Position": {
        "description": "All changes up to here are in the answer",
        "schema": _TEXT,
        "example": "0:1234",
    },
    "ETag": {"description": "For If-None-Match", "schema": _TEXT},
}


if __name__ == "__main__":
    DOCUMENT.write_text(text())
