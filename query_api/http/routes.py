"""The routes of operations: each checks its caller, reads the body and sends JSON or a problem."""

from collections.abc import Iterable
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from hive.errors import UNDECODABLE, InputError, MetatideError
from query_api.http.gate import Gate
from query_api.http.messages import header, problem, require_json, status_of
from query_api.http.operation import Operation, OperationRequest
from query_api.http.request_body import read_body

B = TypeVar("B")
T = TypeVar("T")
_NO_TOKEN: Final = "send a valid token: Authorization: Bearer …"


def routes_of(
    operations: Iterable[Operation[T, Any, Any]], owner: T, gate: Gate
) -> list[BaseRoute]:
    """The routes of operations, whose handlers answer with the help of `owner`."""
    return [_route(operation, owner, gate) for operation in operations]


def _route(operation: Operation[T, Any, Any], owner: T, gate: Gate) -> BaseRoute:

    async def answer(request: Request) -> Response:
        try:
            by = gate.caller(request.scope, operation.access)
            if by is None:
                return _problem(401, _NO_TOKEN, {"www-authenticate": "Bearer"})
            body = None if operation.body is None else await _body_of(request, operation.body)
            value = await operation.handler(owner, OperationRequest(request, body, by))
        except MetatideError as error:
            status, headers = status_of(error)
            return _problem(status, str(error), {k.decode(): v.decode() for k, v in headers})
        return Response(msgspec.json.encode(value), media_type="application/json")

    return Route(operation.route_path, answer, methods=[operation.method])


async def _body_of(request: Request, kind: type[B]) -> B:
    """The request's body as this struct."""
    require_json(header(request.scope, b"content-type"))
    body = await read_body(request.scope, request.receive)
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except UNDECODABLE as error:
        raise InputError(f"the body is invalid: {error}"[:200]) from None


def _problem(status: int, detail: str, headers: dict[str, str]) -> Response:
    media_type = "application/problem+json"
    return Response(problem(status, detail), status, headers, media_type=media_type)
