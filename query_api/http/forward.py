"""Forwards requests to the worker that owns the shard: once, with a short timeout."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import Final, NamedTuple
from urllib.parse import quote

import httpx
import structlog
from starlette.types import Scope, Send

from hive.errors import UnprovedError
from query_api.http.messages import JSON, Headers
from query_api.http.proof import (
    FORWARDED,
    PASSED_BACK,
    PASSED_ON,
    PROVED,
    ProvedReader,
    nonce_of,
    proof_header,
)
from query_api.partners import Partners
from query_api.positions import Position, parse_position

TIMEOUT_S: Final = 5.0
_TIMEOUT: Final = httpx.Timeout(TIMEOUT_S, connect=0.5)
_RELAYED: Final = frozenset((200, 304, 404))
"""The statuses of what a reader may get from an owner. This worker has checked the request."""
_PROTOCOL: Final = "http"

log = structlog.get_logger(__name__)


class OwnerAnswer(NamedTuple):
    """An owner's answer, whose body may still be to be read."""

    status: int
    headers: httpx.Headers
    """Those that may be passed back."""
    body: AsyncIterator[bytes]


class WholeAnswer(NamedTuple):
    """An owner's answer with its body."""

    status: int
    headers: httpx.Headers
    content: bytes


class Forwarder:
    """An HTTP client of the other workers."""

    def __init__(self, trusted: SSLContext | None, partners: Partners) -> None:
        self._partners = partners
        self._verify: SSLContext | bool = trusted or True
        self._client: httpx.AsyncClient | None = None

    def may_ask(self, url: str) -> bool:
        """Whether the owner at a URL may be asked now."""
        return self._partners.may_ask(_address(url))

    async def forward(
        self, url: str, scope: Scope, body: bytes, send: Send, least: Position | None
    ) -> bool:
        """Relays the owner's answer; returns False if there is none, or if it is older than
        `least`. The client's own headers, such as its token, stay here.
        """
        path = scope.get("raw_path") or quote(scope["path"]).encode()
        query = scope["query_string"]
        target = url + path.decode("ascii") + ("?" + query.decode("ascii") if query else "")
        headers = [pair for pair in scope["headers"] if pair[0] in PASSED_ON]
        request = self._request(scope["method"], target, headers, body)
        async with self._asked(url, request) as answer:
            if answer is None or answer.status not in _RELAYED:
                return False
            if not (_has_grounds(answer.headers) and has_reached(answer.headers, least)):
                return False
            start = {
                "type": "http.response.start",
                "status": answer.status,
                "headers": [(name.lower(), value) for name, value in answer.headers.raw],
            }
            await send(start)
            async for block in answer.body:
                await send({"type": "http.response.body", "body": block, "more_body": True})
            await send({"type": "http.response.body", "body": b""})
        return True

    async def ask(
        self,
        url: str,
        path: str,
        parameters: Mapping[str, str | Sequence[str]] | None = None,
        headers: Sequence[tuple[bytes, bytes]] = (),
        body: bytes | None = None,
    ) -> WholeAnswer | None:
        """The owner's whole answer to a POST of JSON, or to a GET without a body; None if there is
        none.
        """
        all_headers = [*headers, *([] if body is None else [(b"content-type", JSON)])]
        method = "GET" if body is None else "POST"
        request = self._request(method, url + path, all_headers, body or b"", parameters or {})
        try:
            async with self._asked(url, request) as answer:
                if answer is None:
                    return None
                # It would be inflated, however large it becomes.
                if answer.headers.get("content-encoding", "identity") != "identity":
                    log.warning("a shard's owner compresses without being asked to", url=url)
                    return None
                blocks = [block async for block in answer.body]
                return WholeAnswer(answer.status, answer.headers, b"".join(blocks))
        except (httpx.HTTPError, UnprovedError) as error:
            _warn(url, error)
            return None

    async def close(self) -> None:
        if self._client is not None:
            await self._client.aclose()

    def _request(
        self,
        method: str,
        target: str,
        headers: Headers,
        body: bytes,
        parameters: Mapping[str, str | Sequence[str]] | None = None,
    ) -> httpx.Request:
        return self._to_owners.build_request(
            method,
            target,
            params=parameters or None,
            headers=[*headers, (FORWARDED, b"1")],
            content=body,
        )

    @property
    def _to_owners(self) -> httpx.AsyncClient:
        if self._client is None:
            # By itself, httpx would accept encodings that the caller may not accept.
            self._client = httpx.AsyncClient(
                headers={"Accept-Encoding": "identity"},
                timeout=_TIMEOUT,
                follow_redirects=False,
                trust_env=False,
                verify=self._verify,
            )
        return self._client

    @asynccontextmanager
    async def _asked(self, url: str, request: httpx.Request) -> AsyncIterator[OwnerAnswer | None]:
        """Asks the owner at a URL; gives None if it has no answer that can be trusted. Raises
        UnprovedError if the body turns out not to be its own.
        """
        address = _address(url)
        if not self._partners.may_ask(address):
            yield None
            return
        headers = [(name.lower(), value) for name, value in request.headers.raw]
        target, method = request.url.raw_path, request.method
        body = request.content
        proof = proof_header(self._partners, address, method, target, headers, body)
        for name, value in proof:
            request.headers[name.decode()] = value.decode()
        response: httpx.Response | None = None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                response = await self._to_owners.send(request, stream=True)
                answer = await self._answer(response, proof)
        except (httpx.HTTPError, TimeoutError) as error:
            _warn(url, error)
            answer = None
        except UnprovedError:
            self._partners.distrust(address, _PROTOCOL)
            answer = None
        try:
            yield answer
        except UnprovedError:
            self._partners.distrust(address, _PROTOCOL)
            raise
        finally:
            if response is not None:
                await response.aclose()

    async def _answer(self, response: httpx.Response, proof: Headers) -> OwnerAnswer:
        """The answer in a response, up to its body."""
        if not proof:
            pairs = ((name.lower(), value) for name, value in response.headers.raw)
            passed_back = httpx.Headers([pair for pair in pairs if pair[0] in PASSED_BACK])
            return OwnerAnswer(response.status_code, passed_back, response.aiter_raw())
        if response.headers.get("content-type", "").encode() != PROVED:
            raise UnprovedError("an answer without a proof")
        reader = ProvedReader(self._partners, nonce_of(proof), response.aiter_raw())
        head = await reader.head()
        return OwnerAnswer(head.status, httpx.Headers(head.headers), reader.body())


def _address(url: str) -> str:
    """The HOST:PORT in a worker's URL."""
    return url.partition("://")[2]


def _warn(url: str, error: Exception) -> None:
    log.warning("a shard's owner does not answer", url=url, error=str(error) or "not in time")


def _has_grounds(headers: httpx.Headers) -> bool:
    return "metatide-source" in headers and "metatide-position" in headers


def has_reached(headers: httpx.Headers, least: Position | None) -> bool:
    """Whether an owner's answer is as new as required."""
    position = headers.get("metatide-position")
    return least is None or position is None or parse_position(position) >= least
