"""Helpers for the routes beside the reads: access, request bodies and problems."""

from collections.abc import Awaitable, Callable
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hive.errors import InputError, MetatideError, TooLargeError
from query_api.http.access import Role, Tokens
from query_api.http.authorization import Holder, administrator
from query_api.http.messages import problem, status_of

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
B = TypeVar("B")
Handler = Callable[[Request, Holder], Awaitable[Any]]
Reading = Callable[[Request], Awaitable[Any]]
_NO_TOKEN: Final = "send a valid token: Authorization: Bearer …"


def admin_route(path: str, method: str, tokens: Tokens, handler: Handler) -> Route:
    """A route that answers administrators with JSON."""

    async def answer(request: Request) -> Response:
        return await _answer(handler(request, administrator(request, tokens)))

    return _route(path, method, answer)


def read_route(path: str, method: str, tokens: Tokens, handler: Reading) -> Route:
    """A route that answers readers with JSON."""

    async def answer(request: Request) -> Response:
        authorization = request.headers.get("authorization")
        if (
            tokens.role_of(None if authorization is None else authorization.encode("latin-1"))
            < Role.READ
        ):
            return _problem(401, _NO_TOKEN, {"www-authenticate": "Bearer"})
        return await _answer(handler(request))

    return _route(path, method, answer)


def _route(path: str, method: str, answer: Callable[[Request], Awaitable[Response]]) -> Route:

    async def answer_or_problem(request: Request) -> Response:
        try:
            return await answer(request)
        except MetatideError as error:
            status, headers = status_of(error)
            return _problem(status, str(error), {k.decode(): v.decode() for k, v in headers})

    return Route(path, answer_or_problem, methods=[method])


async def _answer(value: Awaitable[Any]) -> Response:
    return Response(msgspec.json.encode(await value), media_type="application/json")


async def body_of(request: Request, kind: type[B]) -> B:
    """The request's body as this struct."""
    parts: list[bytes] = []
    size = 0
    async for part in request.stream():
        size += len(part)
        if size > BODY_BYTES_MAX:
            raise TooLargeError(f"the body is longer than {BODY_BYTES_MAX} bytes")
        parts.append(part)
    try:
        return msgspec.json.decode(b"".join(parts) or b"{}", type=kind)
    except msgspec.DecodeError as error:
        raise InputError(f"the body is invalid: {error}"[:200]) from None


def _problem(status: int, detail: str, headers: dict[str, str]) -> Response:
    media_type = "application/problem+json"
    return Response(problem(status, detail), status, headers, media_type=media_type)
