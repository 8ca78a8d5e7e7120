"""The OpenAPI 3.1 document, made from the endpoints, Hive's structs, and the further operations."""

import json
import re
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from hive.thrift.constraints import ALL_TABLE_CONSTRAINTS
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import DATABASE, FUNCTION, PARTITION, TABLE
from hive.thrift.types import ListOf, MapOf, SetOf, Struct, Type, binary, boolean, double, string
from query_api.http.access import Access
from query_api.http.answer_schemas import ANSWERS, listed
from query_api.http.endpoints import ENDPOINTS, Endpoint
from query_api.http.operation import (
    SECURITY,
    AnyOperation,
    Operation,
    OperationRequest,
    described,
    schemas,
)
from query_api.http.page.operations import OPERATIONS as PAGE_OPERATIONS
from query_api.http.parameter_schemas import TEXT, in_path, in_query
from query_api.http.process_paths import PROCESS_PATHS
from query_api.reasons import Reason, Source
from query_api.requirement import PARAMETERS as REQUIREMENTS

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
    double: {"type": ["number", "null"], "description": "null if it is NaN or infinite"},
}
_OF_ONE_TABLE: Final = ("write_ids", "table_id", "accept_newer")
"""The requirements that reads of other things refuse, or have no use for."""
_EXAMPLES: Final = Path(__file__).with_name("examples.json")
"""Answers to the examples of reads, by the ids of operations."""


async def _send(document: Callable[[], str], _: OperationRequest[None]) -> Any:
    return msgspec.Raw(document().encode())


DOCUMENT: Final[Operation[Callable[[], str], None, Any]] = Operation(
    "getOpenApiDocument",
    "get",
    "/v1/openapi.json",
    "This document",
    _send,
    dict,
    {"openapi": "3.1.0"},
    Access.EVERYBODY,
)


def document(more: Iterable[AnyOperation] = ()) -> dict[str, Any]:
    """The whole document of a server that has these further operations."""
    operations: list[AnyOperation] = [*PAGE_OPERATIONS, DOCUMENT, *more]
    examples = msgspec.json.decode(_EXAMPLES.read_bytes())
    whole = {
        "openapi": "3.1.0",
        "info": {
            "title": "Metatide",
            "version": "1",
            "description": "A never-stale cache for Apache Hive Metastore. Objects have the field "
            "names of Hive's Thrift. Each requirement may also be given as a header, for example "
            "`Metatide-Min-Position`.",
        },
        "paths": {
            **{
                re.sub(":path", "", endpoint.path): _path(endpoint, examples)
                for endpoint in ENDPOINTS
            },
            **described(operations, {status: _problem(status) for status in _PROBLEMS}),
            **PROCESS_PATHS,
        },
        "components": {
            "schemas": {
                **_schemas(),
                **ANSWERS,
                **schemas(operations),
                "Problem": _PROBLEM,
                "Names": _NAMES,
            },
            "parameters": {name: in_query(name) for name in REQUIREMENTS},
            "headers": {**_HEADERS, "Retry-After": _RETRY_AFTER},
            "securitySchemes": {
                "token": _scheme("A token of the role read or admin, if tokens are configured"),
                "adminToken": _scheme(
                    "A token of the role admin; where there are no tokens, the request must come "
                    "from the worker's own machine. A proof of the workers' secret, as commands "
                    "send it, needs no token"
                ),
            },
        },
        "security": SECURITY[Access.READERS],
    }
    with_widths: dict[str, Any] = _with_widths(whole)
    return with_widths


def text(more: Iterable[AnyOperation] = ()) -> str:
    """The document as it is sent."""
    return json.dumps(document(more), indent=1) + "\n"


def _with_widths(part: Any) -> Any:
    """A part of the document, with the width of integers: generators of clients take those that
    have none for integers of 32 bits.
    """
    if isinstance(part, list | tuple):
        return [_with_widths(item) for item in part]
    if not isinstance(part, dict):
        return part
    kind = part.get("type")
    width = {"format": "int64"} if kind == "integer" or kind == ["integer", "null"] else {}
    return {
        **{key: item if key == "example" else _with_widths(item) for key, item in part.items()},
        **width,
    }


def _path(endpoint: Endpoint, examples: dict[str, Any]) -> dict[str, Any]:
    operations = {"get": _operation(endpoint, "", endpoint.parameters, examples)}
    if endpoint.has_body:
        beside = tuple(name for name in endpoint.parameters if name not in _IN_BODY)
        media = {
            "schema": {"$ref": "#/components/schemas/Names"},
            "example": {"names": [endpoint.named.example]} if endpoint.has_names else _WRITE_IDS,
        }
        suffix = "ByNames" if endpoint.has_names else _BY_WRITE_IDS
        post = _operation(endpoint, suffix, beside, examples)
        post["responses"]["415"] = _problem("415")
        operations["post"] = {**post, "requestBody": {"content": {"application/json": media}}}
    return operations


def _operation(
    endpoint: Endpoint, suffix: str, parameters: tuple[str, ...], examples: dict[str, Any]
) -> dict[str, Any]:
    id_ = endpoint.id + suffix
    # By write ids in a body, the answer is the one without them.
    example = examples[endpoint.id if suffix == _BY_WRITE_IDS else id_]
    content: dict[str, Any] = {
        "application/json": {"schema": _answer(endpoint), "example": example}
    }
    if endpoint.lines is not None:
        content["application/x-ndjson"] = {"schema": TEXT}
    return {
        "operationId": id_,
        "summary": endpoint.summary,
        "parameters": [
            *map(in_path, re.findall(r"\{(\w+)", endpoint.path)),
            *(
                in_query(name, endpoint.named, required=name in endpoint.required)
                for name in parameters
            ),
            *(
                {"$ref": f"#/components/parameters/{name}"}
                for name in REQUIREMENTS
                if name not in _OF_ONE_TABLE or "{table}" in endpoint.path
            ),
        ],
        "responses": {
            "200": {
                "description": "The answer",
                "headers": {name: {"$ref": f"#/components/headers/{name}"} for name in _HEADERS},
                "content": content,
            },
            "304": {"description": "The answer is still the one that If-None-Match names"},
            **{status: _problem(status) for status in _failures(endpoint)},
        },
    }


def _failures(endpoint: Endpoint) -> list[str]:
    reads_tables = "/table" in endpoint.path
    return sorted((*_FAILURES, "422") if reads_tables else _FAILURES)


def _answer(endpoint: Endpoint) -> dict[str, Any]:
    field, _, item = endpoint.answer.partition(":")
    if not item:
        return {"$ref": f"#/components/schemas/{field}"}
    paged = "after" in endpoint.parameters
    return listed(field, {"$ref": f"#/components/schemas/{item}"}, paged=paged)


def _schemas() -> dict[str, Any]:
    """The schemas of the answers' structs, and of all structs within them."""
    schemas: dict[str, Any] = {}
    waiting = list(_ROOTS)
    while waiting:
        struct = waiting.pop()
        if struct.name not in schemas:
            fields = {field.name: _schema(field.type, waiting) for field in struct.fields}
            schemas[struct.name] = {"type": "object", "properties": fields}
    return dict(sorted(schemas.items()))


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


def _scheme(what: str) -> dict[str, str]:
    return {"type": "http", "scheme": "bearer", "description": what}


def _problem(status: str) -> dict[str, Any]:
    schema = {"$ref": "#/components/schemas/Problem"}
    headers = {"Retry-After": {"$ref": "#/components/headers/Retry-After"}}
    return {
        "description": _PROBLEMS[status],
        **({"headers": headers} if status == "503" else {}),
        "content": {"application/problem+json": {"schema": schema}},
    }


_PROBLEMS: Final = {
    "400": "The request is invalid",
    "401": "The token is missing or isn't known",
    "403": "The caller isn't allowed to do this: docs/http.md says who may read, docs/operate.md "
    "who may give orders",
    "404": "There is no such object",
    "413": "The request is too long, or has too many names",
    "415": "The body is not of the type application/json",
    "422": "The tables are in another system, as those of a remote database",
    "500": "The server can't do it now; the detail says what is missing",
    "503": "Neither cache nor database can answer now",
}
# The parameters that a body of names replaces or excludes.
_IN_BODY: Final = frozenset(("name", "table", "filter", "prefix"))
_FAILURES: Final = ("400", *Access.READERS.value, "404", "413", "503")
_PROBLEM: Final = {
    "type": "object",
    "description": "An error, in the form of RFC 9457",
    "properties": {
        "type": TEXT,
        "title": TEXT,
        "status": {"type": "integer"},
        "detail": TEXT,
    },
    "required": ["type", "title", "status", "detail"],
}
_BY_WRITE_IDS: Final = "ByWriteIds"
_WRITE_IDS: Final = {"write_ids": in_query("write_ids")["example"]}
_NAMES: Final = {
    "type": "object",
    "description": "Parameters that may be too long for a URL",
    "properties": {
        "names": {"type": "array", "items": TEXT},
        "filter": TEXT,
        "write_ids": TEXT,
    },
    "additionalProperties": False,
}
_HEADERS: Final = {
    "Metatide-Source": {
        "description": "Whether the cache answered, or the metastore's database",
        "schema": {"type": "string", "enum": list(Source)},
    },
    "Metatide-Reason": {
        "description": "Why the cache answered, or why it did not: docs/alerts.md explains each",
        "schema": {"type": "string", "enum": list(Reason)},
    },
    "Metatide-Position": {
        "description": "The answer contains all changes up to this position",
        "schema": TEXT,
        "example": "0:1234",
    },
    "Metatide-Detail": {"description": "Details of the reason, if there are any", "schema": TEXT},
    "ETag": {"description": "The tag of this answer, for If-None-Match", "schema": TEXT},
}
_RETRY_AFTER: Final = {
    "description": "How many seconds to wait before asking again",
    "schema": {"type": "integer", "minimum": 1},
    "example": 1,
}
