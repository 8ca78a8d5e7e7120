"""A path beside the reads, and its description in the OpenAPI document."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import Any, Final

import msgspec

_REF: Final = "#/components/schemas/{name}"


class Access(Enum):
    """Who may call it; the value is the status that others get, if any."""

    EVERYBODY = ""
    READERS = "401"
    ADMINISTRATORS = "403"


SECURITY: Final[Mapping[Access, list[dict[str, list[str]]]]] = {
    Access.EVERYBODY: [],
    # Without configured tokens nothing is required.
    Access.READERS: [{}, {"token": []}],
    Access.ADMINISTRATORS: [{}, {"adminToken": []}],
}


@dataclass(frozen=True)
class Operation:
    """One path and method, with an example of the request and of the answer."""

    id: str
    method: str
    path: str
    summary: str
    answer: Any
    answers: Any
    """An example."""
    access: Access = Access.READERS
    body: Any = None
    given: Any = None
    """An example."""
    query: tuple[tuple[str, str, int], ...] = ()
    """Parameters, all of them whole numbers: name, what it is, example."""
    in_path: tuple[tuple[str, str, int], ...] = ()
    """The parameters in the path, in the same form."""
    fails: tuple[str, ...] = ()
    """Further statuses, beside those of access and of invalid requests."""


def described(
    operations: Iterable[Operation], problems: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The paths with their operations; `problems` are the possible problems by status."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        taken = ("400", "413") if operation.body else ("400",) if operation.query else ()
        statuses = sorted({*taken, operation.access.value, *operation.fails} - {""})
        description: dict[str, Any] = {
            "operationId": operation.id,
            "summary": operation.summary,
            "security": SECURITY[operation.access],
            "parameters": [
                *(_parameter(*parameter, "path") for parameter in operation.in_path),
                *(_parameter(*parameter, "query") for parameter in operation.query),
            ],
            "responses": {
                "200": {
                    "description": "The answer",
                    "content": _content(operation.answer, operation.answers),
                },
                **{status: problems[status] for status in statuses},
            },
        }
        if operation.body is not None:
            description["requestBody"] = {
                "required": True,
                "content": _content(operation.body, operation.given),
            }
        paths.setdefault(operation.path, {})[operation.method] = description
    return paths


def schemas(operations: Iterable[Operation]) -> dict[str, Any]:
    """The structs that these operations use."""
    kinds = [
        kind
        for operation in operations
        for kind in (operation.answer, operation.body)
        if kind is not None
    ]
    return msgspec.json.schema_components(kinds, ref_template=_REF)[1]


def _content(kind: Any, example: Any) -> dict[str, Any]:
    [schema], _ = msgspec.json.schema_components([kind], ref_template=_REF)
    # As JSON has it, which knows no tuples.
    value = msgspec.json.decode(msgspec.json.encode(example))
    return {"application/json": {"schema": schema, "example": value}}


def _parameter(name: str, description: str, example: int, place: str) -> dict[str, Any]:
    return {
        "name": name,
        "in": place,
        **({"required": True} if place == "path" else {}),
        "description": description,
        "schema": {"type": "integer", "minimum": 0},
        "example": example,
    }
