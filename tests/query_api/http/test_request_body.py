"""The body of a request, within its limits."""

import asyncio

import pytest
from starlette.types import Message, Scope

from hive.errors import InputError, TooLargeError
from query_api.http import request_body
from query_api.http.request_body import BYTES_MAX, read_body

NO_LENGTH: Scope = {"headers": []}


class Sender:
    """Sends parts of a body; after the last it is silent."""

    def __init__(self, *parts: bytes, is_whole: bool = True) -> None:
        self._messages = [
            {"type": "http.request", "body": part, "more_body": True} for part in parts
        ]
        self._messages[-1]["more_body"] = not is_whole

    async def receive(self) -> Message:
        if not self._messages:
            await asyncio.Event().wait()
        return self._messages.pop(0)


async def test_parts_are_joined() -> None:
    assert await read_body(NO_LENGTH, Sender(b"a", b"", b"bc").receive) == b"abc"


@pytest.mark.parametrize("length", [b"4194305", b"9" * 5000, b"-1", b"many"])
async def test_a_length_over_the_limit_is_refused_before_the_body_is_read(length: bytes) -> None:
    with pytest.raises(TooLargeError, match="longer than 4194304 bytes"):
        await read_body({"headers": [(b"content-length", length)]}, Sender(b"").receive)


async def test_a_body_without_a_length_is_refused_once_it_is_too_long() -> None:
    half = bytes(BYTES_MAX // 2)
    with pytest.raises(TooLargeError):
        await read_body(NO_LENGTH, Sender(half, half, b"1", is_whole=False).receive)


async def test_a_slow_body_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_body, "TIMEOUT_S", 0.01)
    with pytest.raises(InputError, match=r"did not arrive within 0\.01 s"):
        await read_body(NO_LENGTH, Sender(b"{", is_whole=False).receive)


async def test_reading_ends_when_the_sender_hangs_up() -> None:
    async def receive() -> Message:
        return {"type": "http.disconnect"}

    with pytest.raises(asyncio.CancelledError):
        await read_body(NO_LENGTH, receive)
