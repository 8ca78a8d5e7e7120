"""Routes for administrators: who may ask, what they sent, and problems as they are sent."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any, Final, TypeVar

import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hive.errors import InputError, MetatideError, TooLargeError
from query_api.http.access import Tokens
from query_api.http.allowed import Holder, administrator
from query_api.http.messages import status_of

BODY_BYTES_MAX: Final = 4 * 1024 * 1024
B = TypeVar("B")
Handler = Callable[[Request, Holder], Awaitable[Any]]


def admin_route(path: str, method: str, tokens: Tokens, handler: Handler) -> Route:
    """One that answers administrators with JSON."""

    async def answer(request: Request) -> Response:
        try:
            found = await handler(request, administrator(request, tokens))
        except MetatideError as error:
            status, headers = status_of(error)
            return _problem(status, str(error), {k.decode(): v.decode() for k, v in headers})
        return Response(msgspec.json.encode(found), media_type="application/json")

    return Route(path, answer, methods=[method])


async def body_of(request: Request, kind: type[B]) -> B:
    """What was sent, as this struct."""
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
        raise InputError(f"the body is not what this takes: {error}"[:200]) from None


def _problem(status: int, detail: str, headers: dict[str, str]) -> Response:
    problem = {
        "type": "about:blank",
        "title": HTTPStatus(status).phrase,
        "status": status,
        "detail": detail,
    }
    media_type = "application/problem+json"
    return Response(msgspec.json.encode(problem), status, headers, media_type=media_type)
