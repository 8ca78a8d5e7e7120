"""Responses: answers with their headers, problems as in RFC 9457, compression and ETags."""

import asyncio
import gzip
from collections.abc import Iterable
from hashlib import blake2b
from http import HTTPStatus
from math import ceil
from typing import Any, Final

import msgspec
import zstandard
from starlette.types import Receive, Scope, Send

from hive.errors import (
    ForbiddenError,
    MediaTypeError,
    MetatideError,
    RemoteDatabaseError,
    TooLargeError,
    UnansweredError,
)
from query_api.background_tasks import take_note
from query_api.resolver.answer import ReadAnswer

JSON: Final = b"application/json"
NDJSON: Final = b"application/x-ndjson"
COMPRESSED_FROM: Final = 1024
Headers = list[tuple[bytes, bytes]]
GROUNDS: Final = frozenset(
    (
        *(b"metatide-source", b"metatide-reason", b"metatide-position", b"metatide-detail"),
        b"cache-control",
    )
)
"""The headers that `grounds` gives."""

_ZSTD: Final = zstandard.ZstdCompressor(level=3)


def header(scope: Scope, name: bytes) -> bytes | None:
    """The first header of this name."""
    for key, value in scope["headers"]:
        if key == name:
            text: bytes = value
            return text
    return None


def grounds(answer: ReadAnswer[Any]) -> Headers:
    """The headers that say who answered, why, and up to which position it is complete."""
    headers = [
        (b"metatide-source", answer.source.encode()),
        (b"metatide-reason", answer.reason.encode()),
        (b"metatide-position", str(answer.position).encode()),
    ]
    headers.append((b"cache-control", b"private, no-cache"))
    if answer.detail:
        headers.append((b"metatide-detail", answer.detail.encode("latin-1", "replace")))
    return headers


def etag_of(body: bytes) -> bytes:
    """A weak ETag: the same object may be sent compressed or uncompressed."""
    return b'W/"%s"' % blake2b(body, digest_size=12).hexdigest().encode()


def is_etag_in(if_none_match: bytes, etag: bytes) -> bool:
    """Whether a caller who sent this If-None-Match has the body already."""
    if if_none_match in (etag, b"*"):
        return True
    return etag[2:] in (listed.strip().removeprefix(b"W/") for listed in if_none_match.split(b","))


async def send_body(scope: Scope, send: Send, body: bytes, headers: Headers) -> None:
    """Sends a JSON body, compressed if accepted and worthwhile; or 304 if the caller has it."""
    etag = etag_of(body)
    headers = [*headers, (b"etag", etag)]
    if_none_match = header(scope, b"if-none-match")
    if if_none_match is not None and is_etag_in(if_none_match, etag):
        await _send(send, 304, b"", headers)
        return
    headers.append((b"content-type", JSON))
    body, headers = compressed(header(scope, b"accept-encoding"), body, headers)
    await _send(send, 200, body, [*headers, (b"content-length", b"%d" % len(body))])


async def send_lines(
    receive: Receive, send: Send, lines: Iterable[bytes], headers: Headers
) -> None:
    """Sends JSON lines in batches, at the pace at which the caller reads and until it has left.
    Between batches others are served.
    """
    await send(
        {
            "type": "http.response.start",
            "status": 200,
            "headers": [*headers, (b"content-type", NDJSON)],
        }
    )
    leaving = asyncio.create_task(_disconnected(receive))
    leaving.add_done_callback(take_note)
    try:
        block: list[bytes] = []
        for line in lines:
            block.append(line)
            if len(block) == _LINES_A_BLOCK:
                await _send_block(send, block, more=True)
                block.clear()
                # Sending doesn't wait as long as the connection's buffer takes what is sent.
                await asyncio.sleep(0)
                if leaving.done():
                    return
        await _send_block(send, block, more=False)
    finally:
        leaving.cancel()
        await asyncio.wait([leaving])


async def _send_block(send: Send, lines: list[bytes], *, more: bool) -> None:
    body = b"\n".join([*lines, b""]) if lines else b""
    await send({"type": "http.response.body", "body": body, "more_body": more})


async def _disconnected(receive: Receive) -> None:
    """Returns once the caller has left."""
    while (await receive())["type"] != "http.disconnect":
        pass


_LINES_A_BLOCK: Final = 100


def problem(status: int, detail: str) -> bytes:
    """The body of a problem."""
    title = HTTPStatus(status).phrase
    return msgspec.json.encode(
        {"type": "about:blank", "title": title, "status": status, "detail": detail}
    )


async def send_problem(
    send: Send, status: int, detail: str, headers: Headers | None = None
) -> None:
    """Sends an error as application/problem+json."""
    body = problem(status, detail)
    await _send(
        send,
        status,
        body,
        [
            *(headers or []),
            (b"content-type", b"application/problem+json"),
            (b"content-length", b"%d" % len(body)),
        ],
    )


def status_of(error: MetatideError) -> tuple[int, Headers]:
    """The status of one of our errors, and the headers that go with it."""
    match error:
        case ForbiddenError():
            return 403, []
        case TooLargeError():
            return 413, []
        case MediaTypeError():
            return 415, []
        case RemoteDatabaseError():
            return 422, []
        case UnansweredError():
            return 503, [(b"retry-after", b"%d" % max(1, ceil(error.retry_after_s)))]
    return (400, []) if error.exit_status == 2 else (500, [])


def compressed(accepted: bytes | None, body: bytes, headers: Headers) -> tuple[bytes, Headers]:
    """A body and its headers, in an encoding that the caller accepts."""
    if len(body) < COMPRESSED_FROM:
        return body, headers
    headers = [*headers, (b"vary", b"accept-encoding")]
    codings = _codings(accepted or b"")
    if b"zstd" in codings:
        return _ZSTD.compress(body), [*headers, (b"content-encoding", b"zstd")]
    if b"gzip" in codings:
        packed = gzip.compress(body, compresslevel=1, mtime=0)
        return packed, [*headers, (b"content-encoding", b"gzip")]
    return body, headers


def _codings(accepted: bytes) -> set[bytes]:
    """The codings that an Accept-Encoding names, without those of weight 0, which it refuses."""
    codings: set[bytes] = set()
    for item in accepted.lower().split(b","):
        coding, _, weight = item.partition(b";")
        if not weight or weight.strip(b"q=0. \t"):
            codings.add(coding.strip())
    return codings


def is_json(content_type: bytes | None) -> bool:
    return (content_type or b"").partition(b";")[0].strip().lower() == JSON


def require_json(content_type: bytes | None) -> None:
    """Raises MediaTypeError unless a request's content is JSON. Pages of other origins can send
    other types without asking first.
    """
    if not is_json(content_type):
        raise MediaTypeError("send the body as content-type: application/json")


async def _send(send: Send, status: int, body: bytes, headers: Headers) -> None:
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
