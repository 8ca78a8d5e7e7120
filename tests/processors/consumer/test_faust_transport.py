"""What Faust's transport does otherwise here."""

import asyncio
from typing import Any

import pytest
from faust.transport.drivers import aiokafka
from faust.types import TP

from processors.consumer import faust_transport


@pytest.mark.parametrize("is_slow", [False, True])
async def test_a_commit_of_offsets_gives_up_soon(
    monkeypatch: pytest.MonkeyPatch, *, is_slow: bool
) -> None:
    async def commit(*_: Any) -> bool:
        if is_slow:
            await asyncio.Event().wait()
        return True

    monkeypatch.setattr(faust_transport, "COMMIT_TIMEOUT_S", 0.01)
    monkeypatch.setattr(aiokafka.AIOKafkaConsumerThread, "_commit", commit)
    thread = object.__new__(faust_transport._Thread)
    assert await thread._commit({TP("topic", 0): 1}) is not is_slow
