"""Who gets which read of the sequence, by a clock that the tests move."""

import asyncio
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive.errors import SourceError
from query_api.latest import RecentReads, SharedRead, recent_reads
from query_api.latest.log_end import ROWS_MAX, LogEnd
from query_api.latest.log_history import LogHistory
from query_api.latest.sequence import Tail
from query_api.positions import Position

AGE_MS = 100
HERE = Position(0, 5)


class Primary:
    """A database and a clock."""

    def __init__(self) -> None:
        self.now_s = 1_000.0
        self.current = 10
        self.written: list[tuple[float, int]] = [(0.0, 10)]
        self.fails = False
        self.may_answer = asyncio.Event()
        self.may_answer.set()
        self.history = LogHistory()
        self.index = SharedRead(self.read, self.history)
        self.first_events: list[int] = []

    async def read(self, first: int, messages_after: int) -> Tail:
        current = self.current
        self.first_events.append(first)
        async with asyncio.timeout(10):
            await self.may_answer.wait()
        if self.fails:
            raise SourceError("it is gone")
        return Tail(current, [])

    def write(self) -> None:
        self.current += 1
        self.written.append((self.now_s, self.current))

    def current_at(self, moment_s: float) -> int:
        return max(event for written_s, event in self.written if written_s <= moment_s)


@pytest.fixture
def clocked(monkeypatch: pytest.MonkeyPatch) -> Callable[[Primary], Primary]:
    def clocked(primary: Primary) -> Primary:
        monkeypatch.setattr(recent_reads, "elapsed_s", lambda: primary.now_s)
        return primary

    return clocked


def of(primary: Primary, *positions: Position) -> RecentReads:
    return RecentReads(primary.index.after_now, primary.history, lambda: positions or (HERE,))


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(10):
        while not condition():
            await asyncio.sleep(0)


Clocked = Callable[[Primary], Primary]


async def test_one_read_for_all_every_half_of_the_age(clocked: Clocked) -> None:
    primary = clocked(Primary())
    recent = of(primary)
    assert recent.within(AGE_MS) == [], "the first one asks the database itself"
    await until(lambda: len(recent.within(AGE_MS)) == 1)
    for _ in range(10 * AGE_MS):
        primary.now_s += 0.001
        assert recent.within(AGE_MS)
        for _ in range(5):
            await asyncio.sleep(0)
    assert 18 <= recent.reads <= 21
    assert len(primary.first_events) == recent.reads
    await recent.close()
    await primary.index.close()


async def test_a_smaller_age_has_the_log_read_more_often(clocked: Clocked) -> None:
    primary = clocked(Primary())
    recent = of(primary)
    recent.within(10 * AGE_MS)
    await until(lambda: bool(recent.within(10 * AGE_MS)))
    primary.now_s += 2 * AGE_MS / 1_000
    assert recent.within(10 * AGE_MS)
    assert recent.reads == 1
    assert recent.within(AGE_MS) == []
    await until(lambda: bool(recent.within(AGE_MS)))
    assert recent.reads == 2
    assert len(recent.within(10 * AGE_MS)) == 2
    await recent.close()
    await primary.index.close()


async def test_a_database_that_fails_makes_the_reads_too_old(clocked: Clocked) -> None:
    primary = clocked(Primary())
    recent = of(primary)
    recent.within(AGE_MS)
    await until(lambda: bool(recent.within(AGE_MS)))
    primary.fails = True
    primary.now_s += 0.6 * AGE_MS / 1_000
    assert len(recent.within(AGE_MS)) == 1
    await until(lambda: recent.reads == 2)
    primary.now_s += 0.6 * AGE_MS / 1_000
    assert recent.within(AGE_MS) == []
    primary.fails = False
    await until(lambda: bool(recent.within(AGE_MS)))
    await recent.close()
    await primary.index.close()


async def test_a_sequence_below_the_furthest_shard_is_noticed(clocked: Clocked) -> None:
    primary = clocked(Primary())
    recent = of(primary, Position(1, 3), Position(1, 11), Position(0, 99))
    recent.within(AGE_MS)
    await until(lambda: primary.history.is_rewound(1))
    assert primary.first_events == [3]
    await recent.close()
    await primary.index.close()


async def test_without_shards_nothing_is_read(clocked: Clocked) -> None:
    primary = clocked(Primary())
    recent = RecentReads(primary.index.after_now, primary.history, tuple)
    recent.within(AGE_MS)
    await asyncio.sleep(0.01)
    assert not recent.within(AGE_MS)
    assert not primary.first_events
    await recent.close()


POSITIONS = st.lists(
    st.builds(Position, st.integers(0, 2), st.integers(0, 3 * ROWS_MAX)), min_size=1
)


@given(POSITIONS)
def test_a_read_shows_what_all_shards_lack_but_those_left_behind(positions: list[Position]) -> None:
    ends = recent_reads.ends_of(positions)
    assert ends is not None
    assert ends[-1] == max(positions)
    for position in positions:
        near = position.epoch == ends[-1].epoch and ends[-1].event - position.event <= ROWS_MAX
        assert (position >= ends[0]) == near


STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("pass"), st.integers(1, 80)),
        st.tuples(st.just("write"), st.just(0)),
        st.tuples(st.just("ask"), st.sampled_from((20, 50, AGE_MS))),
        st.tuples(st.just("hold"), st.just(0)),
        st.tuples(st.just("let"), st.just(0)),
        st.tuples(st.just("fail"), st.booleans()),
    ),
    max_size=60,
)


@given(STEPS)
@example([("ask", 20), ("write", 0), ("pass", 14), ("pass", 36), ("ask", 50)])
def test_what_a_read_shows_is_never_older_than_was_asked_for(steps: list[tuple[str, int]]) -> None:
    asyncio.run(_check_ages(steps))


async def _check_ages(steps: list[tuple[str, int]]) -> None:
    primary = Primary()
    recent = of(primary)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(recent_reads, "elapsed_s", lambda: primary.now_s)
        for step, number in steps:
            if step == "pass":
                primary.now_s += number / 1_000
            elif step == "write":
                primary.write()
            elif step == "ask":
                logs: list[LogEnd] = recent.within(number)
                # Sums of fractions may be a little too large.
                since_s = primary.now_s - number / 1_000 - 1e-9
                assert all(log.current >= primary.current_at(since_s) for log in logs)
                assert logs == sorted(logs, key=lambda log: -log.current)
            elif step == "fail":
                primary.fails = bool(number)
            elif step == "hold":
                primary.may_answer.clear()
            else:
                primary.may_answer.set()
            for _ in range(5):
                await asyncio.sleep(0)
        primary.may_answer.set()
        await recent.close()
        await primary.index.close()
