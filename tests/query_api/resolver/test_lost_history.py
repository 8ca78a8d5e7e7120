"""A database that was put back, of which a shard learns lost events while its log is read."""

import asyncio
from collections.abc import Callable, Sequence

import pytest

from query_api import shards
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.positions import Position
from query_api.reads import GetTable, ListPartitionNames, Read
from query_api.reasons import Reason
from query_api.requirement import Requirement
from query_api.resolver.answer import Miss, ReadAnswer
from query_api.thrift.metrics import MethodFigures
from query_api.thrift.reply_cache import cached_reply, reply_cache
from state.records import Change
from tests.query_api.http.read_client import Nowhere
from tests.query_api.shards import (
    ORDERS,
    MemoryShard,
    MemoryShards,
    change,
    load_table,
    moment,
    partition_image,
    table_image,
)

FEW, MANY = 1, 500


class Database(Nowhere):
    """A database whose log shows these events, read by read; `meanwhile` runs during the first."""

    def __init__(self, currents: Sequence[int | None], meanwhile: Callable[[], object]) -> None:
        super().__init__()
        self.currents = list(currents)
        self._meanwhile = meanwhile

    async def after_now(self, reached: Position) -> LogEnd | None:
        current = self.currents.pop(0)
        self._meanwhile()
        self._meanwhile = int
        if current is None:
            return None
        self.history.check_position(reached.epoch, reached.event, current)
        return LogEnd(reached.epoch, current, [])


@pytest.mark.parametrize(
    ("read", "partitions"), [(GetTable(ORDERS), FEW), (ListPartitionNames(ORDERS), MANY)]
)
@pytest.mark.parametrize(
    ("currents", "reason"),
    [
        ((4,), None),
        ((3, 4), None),
        ((3, 7), None),
        ((3, 3), Reason.REWOUND),
        ((3, None), Reason.UNREAD),
    ],
)
async def test_what_is_applied_during_a_read_of_the_log_counts_if_the_database_goes_on_to_there(
    read: Read[object], partitions: int, currents: tuple[int | None, ...], reason: Reason | None
) -> None:
    images = [partition_image(f"d{number:03d}") for number in range(partitions)]
    loaded = load_table(1, *images, table=table_image(managed=False))
    shard = MemoryShard(*loaded, *(change(event) for event in (1, 2)))
    database = Database(currents, lambda: shard.fold([change(3), change(4)]))
    backend = Backend(MemoryShards(shard), database)
    outcome = await backend.resolver.cached(read, Requirement())
    assert not database.currents
    if reason is None:
        assert isinstance(outcome, ReadAnswer)
    else:
        assert isinstance(outcome, Miss)
        assert outcome.reason is reason
    await backend.close()


LOST, PUBLISHED_SINCE = 11, 22
"""The marks of two rows that had the same event id, one after the other."""


class Restored(Nowhere):
    """A database in which an event has another row than shards will apply."""

    def __init__(self, event: int) -> None:
        super().__init__()
        self.event = event

    async def after_now(self, reached: Position) -> LogEnd | None:
        touched = RowEffects(tables=(ORDERS,))
        rows = [(event, touched) for event in range(reached.event + 1, self.event + 1)]
        marks = {self.event: PUBLISHED_SINCE}
        return LogEnd(reached.epoch, self.event, rows, marks=marks)


@pytest.mark.parametrize(
    ("mark", "reason"), [(LOST, Reason.GAP), (PUBLISHED_SINCE, None), (0, None)]
)
async def test_a_lost_event_that_is_applied_while_a_read_waits_for_another_is_none(
    mark: int, reason: Reason | None
) -> None:
    shard = MemoryShard(*load_table(1, table=table_image(managed=False)), change(1), change(2))
    backend = Backend(MemoryShards(shard), Restored(3))
    answer = asyncio.create_task(
        backend.resolver.cached(GetTable(ORDERS), Requirement(max_wait_ms=10_000))
    )
    await asyncio.sleep(0.05)
    await shard.move(Change(0, 2, 3, mark=mark))
    outcome = await answer
    assert (outcome.reason if isinstance(outcome, Miss) else None) is reason
    # What was read before the shard went on may be what the database has lost since.
    assert not backend.resolver.is_rewound(0)
    await backend.close()


async def test_a_lost_event_that_a_later_read_of_the_log_denies_is_none() -> None:
    """The shard has gone on since the snapshot, to an event that the database has."""

    class Later(Restored):
        async def after_now(self, reached: Position) -> LogEnd | None:
            if self.event == 2:
                self.event = 3
                shard.fold([Change(0, 2, 3, mark=LOST)])
                return LogEnd(reached.epoch, 2, [])
            shard.fold([change(4)])
            return await super().after_now(reached)

    shard = MemoryShard(*load_table(1, table=table_image(managed=False)), change(1), change(2))
    backend = Backend(MemoryShards(shard), Later(2))
    outcome = await backend.resolver.cached(GetTable(ORDERS), Requirement())
    assert isinstance(outcome, Miss)
    assert outcome.reason is Reason.REWOUND
    await backend.close()


@pytest.mark.parametrize(
    "requirement",
    [Requirement(), Requirement(Consistency.ANY, must_be_current=False)],
    ids=["latest", "any"],
)
async def test_a_shard_that_has_not_begun_the_topics_epoch_answers_nothing(
    requirement: Requirement, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As an image of before, or a shard that has stopped: an epoch that was ordered tells of what
    no event tells."""
    monkeypatch.setattr(shards, "EPOCH_LOOK_S", 0.0)
    source = MemoryShards(MemoryShard(change(1), *load_table(1, table=table_image(managed=False))))
    backend = Backend(source, Nowhere(LogEnd(0, 1, [])))
    resolver = backend.resolver
    cached = reply_cache(backend.views, resolver.is_rewound)
    own = moment(backend.views)
    cached.put(b"call", cached_reply(b"call", own, (), 0, Reason.FRESH, b"x", MethodFigures()))
    for epoch, reason in ((0, Reason.FRESH), (1, Reason.REWOUND)):
        source.epoch = epoch
        read = GetTable(ORDERS)
        outcome = resolver.cached_now(read, requirement) or await resolver.cached(read, requirement)
        assert outcome.reason is reason
        assert (cached.get(b"call") is None) == (reason is Reason.REWOUND)
    await backend.close()
