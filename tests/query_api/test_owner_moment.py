"""What an answer of another worker depends on, and for how long it is kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.names import TableName, table_name
from query_api import owner_moment
from query_api.answer_cache import CachedAnswer
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.owner_moment import BYTES_MAX, OwnerMoment, decode, encode
from query_api.positions import Position
from query_api.shards import Views
from query_api.targets import Target, TargetKind
from state.records import AnyRecord, Pause, Reset
from tests.query_api.shards import ORDERS, MemoryShard, MemoryShards

ORDERS_ALONE = (Target(TargetKind.TABLE, ORDERS),)
OTHER = table_name(None, "sales", "other")
MARKS = {event: 100 + event for event in range(1, 10)}
"""Those of the events of the log."""

names = st.builds(table_name, st.none(), st.text(max_size=5), st.text(max_size=5))
targets = st.builds(Target, st.sampled_from(TargetKind), names, st.tuples(st.text(max_size=5)))


def moment_of(reached: Position, *targets: Target) -> OwnerMoment:
    return OwnerMoment(0, targets, reached, MARKS[4], float("inf"))


@given(st.builds(Position, st.integers(0, 1 << 60), st.integers(0, 1 << 60)), st.lists(targets))
def test_what_one_worker_tells_another_reads(position: Position, listed: list[Target]) -> None:
    data = encode(moment_of(position, *listed), ())
    if data is not None:
        moment = decode(data, 3)
        assert moment is not None
        assert moment[:4] == (3, tuple(listed), position, MARKS[4])


@given(st.binary(max_size=50))
def test_anything_else_is_no_moment(data: bytes) -> None:
    moment = decode(data, 3)
    assert moment is None or encode(moment, ()) is not None


def test_what_the_other_could_not_know_is_not_told() -> None:
    orders = moment_of(Position(0, 1), *ORDERS_ALONE)
    assert encode(orders, {OTHER: ()}) is not None
    assert encode(orders, {ORDERS: (OTHER,)}) is None, "a late event of OTHER"
    assert encode(orders._replace(mark=0), ()) is None, "what the log would have to show"
    many = (Target(TargetKind.PARTITION, ORDERS, (str(day),)) for day in range(BYTES_MAX))
    assert encode(moment_of(Position(0, 1), *many), ()) is None


def test_it_lasts_until_the_shard_is_here_or_the_time_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    shards = MemoryShards(None, MemoryShard())
    views = Views(shards)
    data = encode(moment_of(Position(0, 1), *ORDERS_ALONE), ())
    assert data is not None
    moment = decode(data, 0)
    assert moment is not None
    assert moment.lasts(views)
    shards.shards[0] = MemoryShard()
    assert not moment.lasts(views)
    shards.shards[0] = None
    monkeypatch.setattr(owner_moment, "elapsed_s", lambda: moment.until_s)
    assert not moment.lasts(views)


@pytest.mark.parametrize("obeys", [0, 1])
@pytest.mark.parametrize("order", [Pause(0, 1, paused=True), Reset(1, 4)], ids=["pause", "reset"])
def test_it_lasts_until_any_shard_here_obeys_an_order(order: AnyRecord, obeys: int) -> None:
    shards = [MemoryShard(), MemoryShard()]
    views = Views(MemoryShards(*shards, None))
    moment = moment_of(Position(0, 4), *ORDERS_ALONE)._replace(shard=2)
    assert moment.lasts(views)
    shards[obeys].fold([order])
    assert not moment.lasts(views)


def answer(reached: int, *, max_age_ms: int = 0) -> CachedAnswer:
    moment = moment_of(Position(0, reached), *ORDERS_ALONE)
    return CachedAnswer(moment, ORDERS_ALONE, max_age_ms, b"", 0)


def log(current: int, *tables: TableName, epoch: int = 0, marks: dict[int, int] = MARKS) -> LogEnd:
    """A log whose last events changed these tables."""
    first = current - len(tables) + 1
    effects = [RowEffects(tables=(table,)) for table in tables]
    shown = {event: mark for event, mark in marks.items() if first <= event <= current}
    return LogEnd(epoch, current, list(enumerate(effects, first)), marks=shown)


def test_the_log_confirms_it_until_an_event_touches_it() -> None:
    owners = answer(4)
    assert not owners.confirm(log(9, *[OTHER] * 5)), "whether event 4 is there wasn't seen"
    assert not owners.confirm(log(5, OTHER, OTHER, epoch=1)), "another history"
    assert owners.confirm(log(5, OTHER, OTHER))
    assert owners.reached == Position(0, 5)
    assert owners.confirm(log(6, OTHER, OTHER)), "the next read need not tell of event 4"
    assert not owners.confirm(log(7, OTHER, ORDERS))
    assert owners.reached == Position(0, 6)


@pytest.mark.parametrize("max_age_ms", [0, 100])
def test_a_log_that_ends_earlier_confirms_nothing(max_age_ms: int) -> None:
    """What the owner has applied since could be events that the database has lost by now."""
    assert not answer(4, max_age_ms=max_age_ms).confirm(log(3, OTHER, OTHER))
    assert answer(4, max_age_ms=max_age_ms).confirm(log(4, OTHER))


@pytest.mark.parametrize("max_age_ms", [0, 100])
def test_a_log_with_another_row_in_the_place_of_an_event_confirms_nothing(max_age_ms: int) -> None:
    kept = answer(4, max_age_ms=max_age_ms)
    assert kept.confirm(log(5, OTHER, OTHER))
    others = MARKS | {5: 205, 6: 206}
    assert not kept.confirm(log(6, OTHER, OTHER, OTHER, marks=others))
    assert kept.confirm(log(6, OTHER, OTHER, OTHER))
