"""Questions and answers of peers, frame by frame."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from hive.errors import UnprovedError
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


@pytest.fixture
def peers(workers_secret: Path) -> Peers:
    return Peers(SecretFile(workers_secret), HERE)


async def blocks_of(*blocks: bytes) -> AsyncIterator[bytes]:
    for block in blocks:
        yield block


async def test_a_peer_may_leave_and_a_piece_may_be_empty(peers: Peers) -> None:
    received: list[Message] = []

    async def app(_: Scope, receive: Receive, send: Send) -> None:
        received.extend([await receive(), await receive()])
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for piece in (b"", b"a", b""):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        await send({"type": "http.response.body", "body": b""})

    request: Message = {"type": "http.request", "body": b"", "more_body": False}
    messages, sent = [DISCONNECT, request], list[Message]()

    async def receive() -> Message:
        return messages.pop()

    async def send(message: Message) -> None:
        sent.append(message)

    proof = proof_header(peers, HERE, "GET", b"/", [], b"")
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": proof}
    await PeerMiddleware(app, peers)(scope, receive, send)
    assert received == [request, DISCONNECT]
    assert [message["more_body"] for message in sent[1:]] == [True] * (len(sent) - 2) + [False]
    blocks = blocks_of(*(message["body"] for message in sent[1:]))
    reader = ProvedReader(peers, nonce_of(proof), blocks)
    assert (await reader.head()).status == 200
    assert [piece async for piece in reader.body()] == [b"a"]


async def test_a_head_that_is_proved_and_can_not_be_read_is_no_answer(peers: Peers) -> None:
    head, nonce = b"\xc1", b"nonce"
    frame = _Frames(peers, nonce).head(head, more=True) + head
    with pytest.raises(UnprovedError, match="can't be read"):
        await ProvedReader(peers, nonce, blocks_of(frame)).head()
