"""What becomes of shards to which nothing comes, or which move away."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from processors.worker import arrival_watch
from processors.worker.arrival_watch import ArrivalWatch
from processors.worker.metrics import Metrics
from state.store import StorePosition
from tests.processors.worker.in_process import until

OFFSET = 5


class Watched:
    """A worker's shards."""

    def __init__(self) -> None:
        self.shards: dict[int, Any] = {}
        self.metrics = Metrics()

    @asynccontextmanager
    async def watching(self, ends: Callable[[dict[int, object]], object]) -> AsyncIterator[None]:
        client: Any = SimpleNamespace(ends=ends)
        watching = asyncio.create_task(ArrivalWatch(client, self.shards, self.metrics).run())
        yield
        watching.cancel()

    def lag(self) -> float | None:
        return self.metrics.registry.get_sample_value("metatide_lag_records", {"shard": "0"})


@pytest.mark.parametrize(
    ("end", "steps"), [(9, {"refollow"}), (OFFSET, set()), (OFFSET - 1, {"unfollow"})]
)
async def test_what_becomes_of_a_shard_to_which_nothing_comes(
    monkeypatch: pytest.MonkeyPatch, end: int, steps: set[str]
) -> None:
    """A topic that is shorter than the store has lost records: the shard looks at it again."""
    monkeypatch.setattr(arrival_watch, "WATCH_S", 0)
    monkeypatch.setattr(arrival_watch, "STUCK_S", 0)
    taken, looks = set[str](), list[int]()

    async def refollow() -> None:
        taken.add("refollow")

    def ends(shards: dict[int, object]) -> dict[int, int]:
        looks.append(end)
        return dict.fromkeys(shards, end)

    watched = Watched()
    shard = watched.shards[0] = SimpleNamespace(
        position=StorePosition(offset=OFFSET),
        awaits=OFFSET,
        refollow=refollow,
        unfollow=lambda: taken.add("unfollow"),
        end=0,
    )
    async with watched.watching(ends):
        await until(lambda: len(looks) > 2)
    assert taken == steps
    assert shard.end == max(end, OFFSET)
    assert watched.lag() == max(0, end - OFFSET)


async def test_a_shard_that_moves_away_while_the_topic_is_looked_at_has_no_figures(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(arrival_watch, "WATCH_S", 0.01)
    watched, looks = Watched(), list[int]()
    watched.shards[0] = SimpleNamespace(position=StorePosition(), awaits=None, end=0)
    loop = asyncio.get_running_loop()

    def lose() -> None:
        watched.shards.clear()
        watched.metrics.forget(0)

    def ends(shards: dict[int, object]) -> dict[int, int]:
        looks.append(len(shards))
        loop.call_soon_threadsafe(lose)
        return dict.fromkeys(shards, 9)

    async with watched.watching(ends):
        await until(lambda: len(looks) > 2)
    assert looks[:2] == [1, 0]
    assert watched.lag() is None
