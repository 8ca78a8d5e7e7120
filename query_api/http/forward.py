"""Forwards requests to the worker that owns the shard: once, with a short timeout."""

from collections.abc import Mapping, Sequence
from ssl import SSLContext
from typing import Final
from urllib.parse import quote

import httpx
import structlog
from starlette.types import Scope, Send

from query_api.http.messages import JSON, Headers
from query_api.positions import Position, parse_position

FORWARDED: Final = b"metatide-forwarded"
TIMEOUT: Final = httpx.Timeout(5.0, connect=0.5)
_OF_CONNECTION: Final = frozenset((b"connection", b"transfer-encoding", b"keep-alive"))
_DROPPED: Final = _OF_CONNECTION | {b"host", b"content-length"}
_DROPPED_OF_ANSWERS: Final = _OF_CONNECTION | {b"date", b"server"}

log = structlog.get_logger(__name__)


class Forwarder:
    """An HTTP client of the other workers."""

    def __init__(self, trusted: SSLContext | None = None) -> None:
        self._verify: SSLContext | bool = trusted or True
        self._client: httpx.AsyncClient | None = None

    async def forward(
        self, url: str, scope: Scope, body: bytes, send: Send, least: Position | None
    ) -> bool:
        """Relays the owner's answer; returns False if there is none, or if it is older than
        `least`.
        """
        path = scope.get("raw_path") or quote(scope["path"]).encode()
        query = scope["query_string"]
        target = (
            url.rstrip("/") + path.decode("ascii") + ("?" + query.decode("ascii") if query else "")
        )
        headers = [(name, value) for name, value in scope["headers"] if name not in _DROPPED]
        request = self._to_owners.build_request(
            scope["method"], target, headers=[*headers, (FORWARDED, b"1")], content=body
        )
        response = await self._send(request)
        if response is None:
            return False
        try:
            if response.status_code >= 500 or not has_reached(response, least):
                return False
            await _relay(response, send)
        finally:
            await response.aclose()
        return True

    async def ask(
        self,
        url: str,
        parameters: Mapping[str, str | Sequence[str]],
        headers: Headers,
        body: bytes | None = None,
    ) -> httpx.Response | None:
        """The owner's whole answer to a POST of JSON, or to a GET without a body; None if there is
        none.
        """
        if body is not None:
            headers = [*headers, (b"content-type", JSON)]
        request = self._to_owners.build_request(
            "GET" if body is None else "POST",
            url,
            params=parameters,
            headers=[*headers, (FORWARDED, b"1")],
            content=body,
        )
        response = await self._send(request)
        if response is None:
            return None
        try:
            # It would be inflated, however large it becomes.
            if response.headers.get("content-encoding", "identity") != "identity":
                log.warning("a shard's owner compresses without being asked to", url=url)
                return None
            await response.aread()
        except httpx.HTTPError as error:
            _warn(request, error)
            return None
        finally:
            await response.aclose()
        return response

    @property
    def _to_owners(self) -> httpx.AsyncClient:
        if self._client is None:
            # By itself, httpx would accept encodings that the caller may not accept.
            self._client = httpx.AsyncClient(
                headers={"Accept-Encoding": "identity"},
                timeout=TIMEOUT,
                follow_redirects=False,
                trust_env=False,
                verify=self._verify,
            )
        return self._client

    async def _send(self, request: httpx.Request) -> httpx.Response | None:
        """The response, whose body is still to be read."""
        try:
            return await self._to_owners.send(request, stream=True)
        except httpx.HTTPError as error:
            _warn(request, error)
            return None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()


def _warn(request: httpx.Request, error: httpx.HTTPError) -> None:
    log.warning("a shard's owner does not answer", url=str(request.url), error=str(error))


def has_reached(response: httpx.Response, least: Position | None) -> bool:
    """Whether an owner's answer is as new as required; refusals have no position."""
    position = response.headers.get("metatide-position")
    return least is None or position is None or parse_position(position) >= least


async def _relay(response: httpx.Response, send: Send) -> None:
    headers: Headers = [
        (name.lower(), value)
        for name, value in response.headers.raw
        if name.lower() not in _DROPPED_OF_ANSWERS
    ]
    await send({"type": "http.response.start", "status": response.status_code, "headers": headers})
    async for block in response.aiter_raw():
        await send({"type": "http.response.body", "body": block, "more_body": True})
    await send({"type": "http.response.body", "body": b""})
