"""Responses, sent to a caller who may leave."""

import asyncio
from collections.abc import Iterator

import pytest
from starlette.types import Message

from query_api.http.messages import COMPRESSED_FROM, compressed, send_lines

LINES = 5_000


class Caller:
    """Takes every message at once, and leaves after some of them."""

    def __init__(self, leaves_after: int | None = None) -> None:
        self.messages: list[Message] = []
        self.turns: list[int] = []
        """How often another task had run when each message came."""
        self._leaves_after = leaves_after
        self._turn = 0
        self._has_left = asyncio.Event()
        self._requests: list[Message] = [{"type": "http.request", "body": b"", "more_body": False}]

    async def send(self, message: Message) -> None:
        self.messages.append(message)
        self.turns.append(self._turn)
        if len(self.messages) == self._leaves_after:
            self._has_left.set()

    async def receive(self) -> Message:
        if self._requests:
            return self._requests.pop()
        await self._has_left.wait()
        return {"type": "http.disconnect"}

    async def take_turns(self) -> None:
        while True:
            self._turn += 1
            await asyncio.sleep(0)


def numbers(produced: list[int]) -> Iterator[bytes]:
    for number in range(LINES):
        produced.append(number)
        yield b"%d" % number


async def test_others_are_served_between_blocks_of_lines() -> None:
    caller, produced = Caller(), list[int]()
    other = asyncio.create_task(caller.take_turns())
    await send_lines(caller.receive, caller.send, numbers(produced), [])
    other.cancel()
    await asyncio.wait([other])

    body = b"".join(message.get("body", b"") for message in caller.messages)
    assert list(map(int, body.split())) == produced == list(range(LINES))
    assert not caller.messages[-1]["more_body"]
    between = caller.turns[1:]
    assert len(set(between)) == len(between) > LINES / 200


@pytest.mark.parametrize("leaves_after", [1, 2, 7])
async def test_no_lines_are_made_for_a_caller_who_has_left(leaves_after: int) -> None:
    caller, produced = Caller(leaves_after), list[int]()
    await send_lines(caller.receive, caller.send, numbers(produced), [])

    assert all(message.get("more_body", True) for message in caller.messages)
    assert len(caller.messages) <= leaves_after + 3
    assert len(produced) < LINES / 2


async def test_nothing_goes_on_waiting_for_a_caller_who_stays() -> None:
    caller, tasks = Caller(), asyncio.all_tasks()
    await send_lines(caller.receive, caller.send, [b"1"], [])
    assert caller.messages[1:] == [
        {"type": "http.response.body", "body": b"1\n", "more_body": False}
    ]
    assert asyncio.all_tasks() == tasks


@pytest.mark.parametrize(
    ("accepted", "coding"),
    [
        (None, None),
        (b"", None),
        (b"identity", None),
        (b"gzip, deflate, br, zstd", b"zstd"),
        (b"gzip, zstd;q=0", b"gzip"),
        (b"GZIP;q=0.1,zstd ; q=0.000", b"gzip"),
        (b"gzip;q=1.0, zstd;q=0.01", b"zstd"),
        (b"gzip;q=0, zstd; q=0.0, identity", None),
        (b"x-zstd-like, not-gzip", None),
    ],
)
def test_a_body_is_encoded_as_its_caller_accepts(
    accepted: bytes | None, coding: bytes | None
) -> None:
    plain = b"x" * COMPRESSED_FROM
    body, headers = compressed(accepted, plain, [])
    assert dict(headers).get(b"content-encoding") == coding
    assert (body == plain) == (coding is None)
    assert dict(headers)[b"vary"] == b"accept-encoding"
