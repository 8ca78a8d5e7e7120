import asyncio

import pytest

from processors.worker import waiters
from processors.worker.waiters import Waiters
from state.store import StorePosition

AT_ONE = StorePosition(applied=1)


async def wait(waiting: Waiters, event: int, timeout_s: float = 0.0) -> bool:
    return await waiting.complete_up_to(AT_ONE, 0, event, timeout_s)


def test_readers_are_woken_once_their_event_is_applied() -> None:
    async def run() -> None:
        waiting = Waiters()
        readers = [asyncio.create_task(wait(waiting, event, 30)) for event in (3, 2, 4)]
        await asyncio.sleep(0)
        waiting.wake(StorePosition(applied=3))
        assert [await reader for reader in readers[:2]] == [True, True]
        waiting.wake(StorePosition(epoch=1))
        assert not await readers[2]
        assert await wait(waiting, 1)

    asyncio.run(run())


def test_those_who_wait_in_vain_are_dropped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where nothing is committed for hours, and nobody woken."""
    monkeypatch.setattr(waiters, "GONE_MAX", 10)

    async def run() -> None:
        waiting = Waiters()
        patient = asyncio.create_task(wait(waiting, 2, 30))
        for _ in range(100):
            assert not await wait(waiting, 3)
        assert len(waiting._heap) <= 12
        waiting.wake(StorePosition(applied=2))
        assert await patient

    asyncio.run(run())
