"""An operation that isn't a read: its path, its handler, and its description."""

import inspect
import re
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Generic, NamedTuple, TypeVar

import msgspec
from starlette.requests import Request

from query_api.http.access import Access
from query_api.http.gate import Holder

_REF: Final = "#/components/schemas/{name}"
A = TypeVar("A")
B = TypeVar("B")
T = TypeVar("T")

SECURITY: Final[Mapping[Access, list[dict[str, list[str]]]]] = {
    Access.EVERYBODY: [],
    # `{}` means no token: it suffices if none are configured.
    Access.READERS: [{}, {"token": []}],
    Access.ADMINISTRATORS: [{}, {"adminToken": []}],
}


class OperationRequest(NamedTuple, Generic[B]):
    """A request with a valid body, from a caller who is allowed to make it."""

    http: Request
    body: B
    """None if the operation takes no body."""
    by: Holder


@dataclass(frozen=True)
class Operation(Generic[T, B, A]):
    """One path and method: the route, and its description in the OpenAPI document."""

    id: str
    method: str
    path: str
    summary: str
    handler: Callable[[T, OperationRequest[B]], Awaitable[A]]
    """Answers a request with the help of the operation's owner."""
    answer: type[A]
    example: A
    access: Access = Access.READERS
    body: type[B] | None = None
    body_example: B | None = None
    query: tuple[tuple[str, str, int], ...] = ()
    """The parameters in the query, all whole numbers: name, description, example."""
    in_path: tuple[tuple[str, str, int], ...] = ()
    """The parameters in the path, in the same form."""
    fails: tuple[str, ...] = ()
    """Further error statuses, beside those for missing access and invalid requests."""

    @property
    def route_path(self) -> str:
        """The path as Starlette takes it."""
        return re.sub(r"\{(\w+)\}", r"{\1:int}", self.path)


AnyOperation = Operation[Any, Any, Any]


class OperationGroup(NamedTuple, Generic[T]):
    """Operations, and the owner whose methods handle them."""

    operations: tuple[Operation[T, Any, Any], ...]
    owner: T


def described(
    operations: Iterable[AnyOperation], problems: Mapping[str, Any]
) -> dict[str, dict[str, Any]]:
    """The paths with their operations; `problems` are the possible problems by status."""
    paths: dict[str, dict[str, Any]] = {}
    for operation in operations:
        taken = ("400", "413", "415") if operation.body else ("400",) if operation.query else ()
        statuses = sorted({*taken, *operation.access.value, *operation.fails})
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
                    "content": _content(operation.answer, operation.example),
                },
                **{status: problems[status] for status in statuses},
            },
        }
        if operation.body is not None:
            description["requestBody"] = {
                "required": True,
                "content": _content(operation.body, operation.body_example),
            }
        paths.setdefault(operation.path, {})[operation.method] = description
    return paths


def schemas(operations: Iterable[AnyOperation]) -> dict[str, Any]:
    """The structs that these operations use."""
    kinds = [
        kind
        for operation in operations
        for kind in (operation.answer, operation.body)
        if kind is not None
    ]
    return with_clean_descriptions(msgspec.json.schema_components(kinds, ref_template=_REF)[1])


def with_clean_descriptions(structs: Mapping[str, dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Schemas whose descriptions aren't indented as the docstrings that they were."""
    return {
        name: schema | {"description": inspect.cleandoc(schema["description"])}
        if "description" in schema
        else schema
        for name, schema in structs.items()
    }


def _content(kind: Any, example: Any) -> dict[str, Any]:
    [schema], _ = msgspec.json.schema_components([kind], ref_template=_REF)
    # In JSON, tuples become lists.
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
