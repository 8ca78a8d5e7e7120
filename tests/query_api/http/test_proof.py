"""Questions and answers of peers, frame by frame."""

from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from hive.errors import CutOffError, UnprovedError
from hive.units import MIB
from query_api.http.proof import (
    PeerMiddleware,
    ProvedReader,
    _Frames,
    nonce_of,
    proof_header,
)
from query_api.peers import Peers, SecretFile

HERE = "here:1"
DISCONNECT = {"type": "http.disconnect"}
START = {"type": "http.response.start", "status": 200, "headers": []}


@pytest.fixture
def peers(workers_secret: Path) -> Peers:
    return Peers(SecretFile(workers_secret), HERE)


async def blocks_of(*blocks: bytes) -> AsyncIterator[bytes]:
    for block in blocks:
        yield block


async def answered(peers: Peers, app: ASGIApp, *received: Message) -> tuple[bytes, list[Message]]:
    """The nonce of a question, and the messages that answer it; the peer sends what is received."""
    messages, sent = list(reversed(received)), list[Message]()

    async def receive() -> Message:
        return messages.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    proof = proof_header(peers, HERE, "GET", b"/", [], b"")
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": proof}
    with suppress(ConnectionAbortedError):
        await PeerMiddleware(app, peers)(scope, receive, send)
    return nonce_of(proof), sent


def reader_of(peers: Peers, nonce: bytes, sent: list[Message]) -> ProvedReader:
    return ProvedReader(peers, nonce, blocks_of(*(message["body"] for message in sent[1:])))


async def test_a_peer_may_leave_and_a_piece_may_be_empty(peers: Peers) -> None:
    received: list[Message] = []

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        received.extend([await receive(), await receive()])
        await send(START)
        for piece in (b"", b"a", b""):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    request: Message = {"type": "http.request", "body": b"", "more_body": False}
    nonce, sent = await answered(peers, app, request, DISCONNECT)
    assert received == [request, DISCONNECT]
    assert [message["more_body"] for message in sent[1:]] == [True, False]
    reader = reader_of(peers, nonce, sent)
    assert (await reader.head()).status == 200
    assert [piece async for piece in reader.body()] == [(b"a", True), (b"", False)]


@pytest.mark.parametrize("size", [0, 1, MIB, MIB + 1, 2 * MIB + 1])
async def test_an_answer_goes_in_few_messages(peers: Peers, size: int) -> None:
    async def app(_: Scope, __: Receive, send: Send) -> None:
        await send(START)
        await send({"type": "http.response.body", "body": b"a" * size})

    nonce, sent = await answered(peers, app)
    count = max(1, -(-size // MIB))
    assert [message["more_body"] for message in sent[1:]] == [True] * (count - 1) + [False]
    length = dict(sent[0]["headers"]).get(b"content-length")
    assert length == (b"%d" % len(sent[1]["body"]) if count == 1 else None)
    reader = reader_of(peers, nonce, sent)
    assert (await reader.head()).status == 200
    assert b"".join([piece.data async for piece in reader.body()]) == b"a" * size


async def test_an_answer_that_failed_after_its_head_is_cut_off(peers: Peers) -> None:
    async def app(_: Scope, __: Receive, send: Send) -> None:
        await send(START)
        raise ConnectionAbortedError

    nonce, sent = await answered(peers, app)
    reader = reader_of(peers, nonce, sent)
    assert (await reader.head()).status == 200
    with pytest.raises(CutOffError):
        await anext(reader.body())


@pytest.mark.parametrize(
    ("head", "more", "why"),
    [(b"\xc1", True, "can't be read"), (b"", False, "ends with its head")],
)
async def test_a_head_that_is_proved_and_makes_no_sense_is_no_answer(
    peers: Peers, head: bytes, more: bool, why: str
) -> None:
    frame = _Frames(peers, b"nonce").frame(head, more=more)
    with pytest.raises(UnprovedError, match=why):
        await ProvedReader(peers, b"nonce", blocks_of(frame)).head()
