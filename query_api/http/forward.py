"""Forwards requests to the worker that owns the shard: once, with a short timeout."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import Final, NamedTuple
from urllib.parse import quote

import structlog
from aiohttp import (
    ClientError,
    ClientResponse,
    ClientSession,
    ClientTimeout,
    DummyCookieJar,
    TCPConnector,
)
from starlette.types import Scope, Send
from yarl import URL

from hive.errors import InputError, UnprovedError
from query_api.http.messages import GROUNDS, JSON, Headers, send_body
from query_api.http.proof import (
    FORWARDED,
    MOMENT,
    PASSED_BACK,
    PASSED_ON,
    PROVED,
    BodyPiece,
    ProvedReader,
    nonce_of,
    proof_header,
)
from query_api.peers import Peers
from query_api.positions import Position, parse_position

TIMEOUT_S: Final = 5.0
_TIMEOUT: Final = ClientTimeout(connect=TIMEOUT_S, sock_connect=0.5, sock_read=TIMEOUT_S)
_AUTOMATIC: Final = ("Accept", "Accept-Encoding", "Content-Type", "User-Agent")
"""The headers that the library would add. A proof tells all that decide about the answer."""
_IDENTITY: Final = (b"accept-encoding", b"identity")
_RELAYED: Final = frozenset((200, 304, 404))
"""The statuses of what a reader may get from an owner. This worker has checked the request."""
_PROTOCOL: Final = "http"
_FAULTS: Final = (ClientError, TimeoutError, UnprovedError, ValueError)
"""What asking an owner raises. A ValueError says that its address can't be one: it is what a member
of the consumer group says of itself.
"""
Store = Callable[[str, bytes, Headers], None]
"""Takes what an answer depends on, as its owner says it, its body, and its grounds."""

log = structlog.get_logger(__name__)


class OwnerAnswer(NamedTuple):
    """An owner's answer, whose body may still be to be read."""

    status: int
    headers: Headers
    """Those that may be passed back."""
    body: AsyncIterator[BodyPiece]


class WholeAnswer(NamedTuple):
    """An owner's answer with its body."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Forwarder:
    """An HTTP client of the other workers."""

    def __init__(self, trusted: SSLContext | None, peers: Peers) -> None:
        self._peers = peers
        self._trusted: SSLContext | bool = trusted or True
        self._session: ClientSession | None = None

    def may_ask(self, url: str) -> bool:
        """Whether the owner at a URL may be asked now."""
        return self._peers.may_ask(_address(url))

    async def forward(
        self,
        url: str,
        scope: Scope,
        body: bytes,
        send: Send,
        least: Position | None,
        store: Store,
        more_headers: Sequence[tuple[bytes, bytes]] = (),
    ) -> bool:
        """Relays the owner's answer; returns False if there is none, or if it is older than
        `least`. The client's own headers, such as its token, stay here. `store` gets an answer that
        may be cached.
        """
        path = scope.get("raw_path") or quote(scope["path"]).encode()
        query = scope["query_string"]
        target = url + path.decode("ascii") + ("?" + query.decode("ascii") if query else "")
        headers = [(name, value) for name, value in scope["headers"] if _is_passed_on(name, value)]
        headers += more_headers
        # What proves an answer is in its body, which one to HEAD hasn't. The server leaves it out.
        method = "GET" if scope["method"] == "HEAD" else scope["method"]
        has_begun = False
        try:
            request = OwnerRequest(method, URL(target, encoded=True), headers, body)
            async with self._answer_from(url, request) as answer:
                if answer is None or answer.status not in _RELAYED:
                    return False
                by_name = _by_name(answer.headers)
                if not (_has_grounds(by_name) and has_reached(by_name, least)):
                    return False
                moment = by_name.get(MOMENT.decode())
                if moment is not None:
                    whole = await _whole(answer)
                    has_begun = True
                    grounds = [pair for pair in answer.headers if pair[0] in GROUNDS]
                    store(moment, whole, grounds)
                    await send_body(scope, send, whole, grounds)
                    return True
                has_begun = True
                await _pass_back(answer, send)
        except _FAULTS as error:
            if has_begun:
                raise
            _warn(url, error)
            return False
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
        try:
            target = URL(url + path).update_query(dict(parameters or {}))
            request = OwnerRequest(method, target, all_headers, body or b"")
            async with self._answer_from(url, request) as answer:
                if answer is None:
                    return None
                by_name = _by_name(answer.headers)
                # It would be inflated, however large it becomes.
                if by_name.get("content-encoding", "identity") != "identity":
                    log.warning("a shard's owner compresses without being asked to", url=url)
                    return None
                return WholeAnswer(answer.status, by_name, await _whole(answer))
        except _FAULTS as error:
            _warn(url, error)
            return None

    async def close(self) -> None:
        if self._session is not None:
            await self._session.close()

    @property
    def _to_owners(self) -> ClientSession:
        if self._session is None:
            self._session = ClientSession(
                auto_decompress=False,
                connector=TCPConnector(ssl=self._trusted),
                cookie_jar=DummyCookieJar(),
                skip_auto_headers=_AUTOMATIC,
                timeout=_TIMEOUT,
            )
        return self._session

    # Overridden in `tracing.py`.
    @asynccontextmanager
    async def _answer_from(
        self, url: str, request: "OwnerRequest"
    ) -> AsyncIterator[OwnerAnswer | None]:
        """Asks the owner at a URL; gives None if it has no answer that can be trusted. Raises
        UnprovedError if the body turns out not to be its own.
        """
        address = _address(url)
        if not self._peers.may_ask(address):
            yield None
            return
        method, target, headers, body = request
        headers = [*headers, (FORWARDED, b"1")]
        # Otherwise the owner may choose an encoding that the caller doesn't accept.
        if not any(name == b"accept-encoding" for name, _ in headers):
            headers.append(_IDENTITY)
        path = target.raw_path_qs.encode()
        proof = proof_header(self._peers, address, method, path, headers, body)
        response: ClientResponse | None = None
        try:
            async with asyncio.timeout(TIMEOUT_S):
                response = await self._to_owners.request(
                    method,
                    target,
                    headers=[(name.decode(), value.decode()) for name, value in (*headers, *proof)],
                    data=body or None,
                    allow_redirects=False,
                )
                answer = await self._answer(response, proof)
        except (ClientError, TimeoutError) as error:
            _warn(url, error)
            answer = None
        except UnprovedError:
            self._peers.distrust(address, _PROTOCOL)
            answer = None
        try:
            yield answer
        except UnprovedError:
            self._peers.distrust(address, _PROTOCOL)
            raise
        finally:
            if response is not None:
                response.release()

    async def _answer(self, response: ClientResponse, proof: Headers) -> OwnerAnswer:
        """The answer in a response, up to its body."""
        if not proof:
            pairs = ((name.lower(), value) for name, value in response.raw_headers)
            # What nobody has proved isn't cached for others.
            accepted = PASSED_BACK - {MOMENT}
            passed_back = [pair for pair in pairs if pair[0] in accepted]
            return OwnerAnswer(response.status, passed_back, _pieces(response))
        if response.headers.get("content-type", "").encode() != PROVED:
            raise UnprovedError("an answer without a proof")
        reader = ProvedReader(self._peers, nonce_of(proof), response.content.iter_any())
        head = await reader.head()
        return OwnerAnswer(head.status, head.headers, reader.body())


class OwnerRequest(NamedTuple):
    """A request to an owner."""

    method: str
    target: URL
    headers: Headers
    body: bytes


async def _pass_back(answer: OwnerAnswer, send: Send) -> None:
    """Passes an answer to the client as it comes."""
    start = {"type": "http.response.start", "status": answer.status, "headers": answer.headers}
    await send(start)
    async for data, more in answer.body:
        await send({"type": "http.response.body", "body": data, "more_body": more})


async def _whole(answer: OwnerAnswer) -> bytes:
    return b"".join([data async for data, _ in answer.body])


async def _pieces(response: ClientResponse) -> AsyncIterator[BodyPiece]:
    async for data in response.content.iter_any():
        yield BodyPiece(data, True)
    yield BodyPiece(b"", False)


def _is_passed_on(name: bytes, value: bytes) -> bool:
    # The library sends text, so other bytes would arrive changed. None of these headers needs them.
    return name in PASSED_ON and name != FORWARDED and value.isascii()


def _by_name(headers: Headers) -> Mapping[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in headers}


def _address(url: str) -> str:
    """The HOST:PORT in a worker's URL."""
    return url.partition("://")[2]


def _warn(url: str, error: Exception) -> None:
    log.warning("a shard's owner does not answer", url=url, error=str(error) or "not in time")


def _has_grounds(headers: Mapping[str, str]) -> bool:
    return "metatide-source" in headers and "metatide-position" in headers


def has_reached(headers: Mapping[str, str], least: Position | None) -> bool:
    """Whether an owner's answer is as new as required."""
    position = headers.get("metatide-position")
    try:
        return least is None or position is None or parse_position(position) >= least
    except InputError:
        return False
