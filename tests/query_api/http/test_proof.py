"""Questions and answers of partners, frame by frame."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from starlette.types import Message, Receive, Scope, Send

from hive.errors import UnprovedError
from query_api.http.proof import (
    PartnerMiddleware,
    ProvedReader,
    _Frames,
    nonce_of,
    proof_header,
)
from query_api.partners import Partners, SecretFile

HERE = "here:1"
DISCONNECT = {"type": "http.disconnect"}


@pytest.fixture
def partners(workers_secret: Path) -> Partners:
    return Partners(SecretFile(workers_secret), HERE)


async def blocks_of(*blocks: bytes) -> AsyncIterator[bytes]:
    for block in blocks:
        yield block


async def test_a_partner_may_leave_and_a_piece_may_be_empty(partners: Partners) -> None:
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

    proof = proof_header(partners, HERE, "GET", b"/", [], b"")
    scope = {"type": "http", "method": "GET", "path": "/", "query_string": b"", "headers": proof}
    await PartnerMiddleware(app, partners)(scope, receive, send)
    assert received == [request, DISCONNECT]
    assert [message["more_body"] for message in sent[1:]] == [True] * (len(sent) - 2) + [False]
    blocks = blocks_of(*(message["body"] for message in sent[1:]))
    reader = ProvedReader(partners, nonce_of(proof), blocks)
    assert (await reader.head()).status == 200
    assert [piece async for piece in reader.body()] == [b"a"]


async def test_a_head_that_is_proved_and_can_not_be_read_is_no_answer(partners: Partners) -> None:
    head, nonce = b"\xc1", b"nonce"
    frame = _Frames(partners, nonce).head(head, more=True) + head
    with pytest.raises(UnprovedError, match="can't be read"):
        await ProvedReader(partners, nonce, blocks_of(frame)).head()
