"""Events that name a partition by the values that it had before a rename."""

import pytest
from msgspec.structs import replace

from state import keys
from state.loads import Cold
from state.records import AnyRecord, Reset, ResetTable, SetLists
from state.records.actions import (
    MISNAMED_EVENTS_MAX,
    AlterPartition,
    AnyAction,
    CreateTable,
    DropTable,
    PutPartitions,
)
from state.records.objects import fingerprint
from tests.processors.fold.shard import (
    TABLE,
    Shard,
    add,
    change,
    drop,
    image,
    load,
    partition,
    statistics,
)

STALE = fingerprint(b"another state")


def renamed(old: str, new: str, before: int = fingerprint(b"p")) -> AlterPartition:
    return AlterPartition(TABLE, 0, (old,), before, partition(new), truncates=False)


def altered(value: str, *, truncates: bool = False) -> PutPartitions:
    return PutPartitions(TABLE, 0, (partition(value, b"late"),), added=False, truncates=truncates)


def altered_alone(value: str, before: int = STALE) -> AlterPartition:
    return AlterPartition(TABLE, 0, (value,), before, partition(value, b"late"), truncates=False)


@pytest.fixture
def shard() -> Shard:
    """A partition that was renamed from a to b, beside another one."""
    shard = Shard()
    shard.fold(change(1, CreateTable(image())), change(2, add("a", "other")))
    shard.fold(change(3, renamed("a", "b")))
    assert shard.partitions() == {"b": b"p", "other": b"p"}
    assert not shard.doubtful()
    return shard


@pytest.mark.parametrize(
    "late",
    [altered("a"), altered("a", truncates=True), altered_alone("a"), drop("a")],
    ids=["alters", "truncation", "alter", "drop"],
)
@pytest.mark.parametrize("is_added_again", [False, True])
def test_a_late_event_may_have_changed_the_renamed_partition(
    shard: Shard, late: AnyAction, is_added_again: bool
) -> None:
    if is_added_again:
        shard.fold(change(4, add("a")))
    shard.fold(change(5, late, after=3))
    assert ("b",) in shard.doubtful()
    assert shard.partitions() == {"other": b"p"}


def test_a_late_drop_may_have_left_the_partition_that_was_added_again(shard: Shard) -> None:
    shard.fold(change(4, add("a")), change(5, drop("a")))
    assert shard.doubtful() == {("a",), ("b",)}


def test_late_statistics_may_have_changed_the_renamed_partition(shard: Shard) -> None:
    shard.fold(statistics(4, 0b110))
    assert shard.doubtful() == {("a",), ("b",)}


def test_a_writer_that_has_read_the_partition_added_again_means_that_one(shard: Shard) -> None:
    shard.fold(change(4, add("a")), change(5, altered_alone("a", fingerprint(b"p"))))
    assert shard.partitions() == {"a": b"late", "b": b"p", "other": b"p"}
    assert not shard.doubtful()


def test_it_follows_several_renames_and_several_partitions(shard: Shard) -> None:
    shard.fold(change(4, renamed("b", "c")), change(5, add("a")), change(6, renamed("a", "d")))
    shard.fold(change(7, altered("a")))
    assert shard.partitions() == {"other": b"p"}
    assert shard.doubtful() == {("a",), ("b",), ("c",), ("d",)}


def test_a_late_rename_moves_the_renamed_partition(shard: Shard) -> None:
    shard.fold(change(4, renamed("a", "c", STALE)))
    assert shard.doubtful() == {("a",), ("b",), ("c",)}
    shard.fold(*load(4, "c", "other"), change(5, altered("b")))
    assert shard.doubtful() == {("b",), ("c",)}


def test_a_partition_that_has_its_values_again_is_in_doubt_itself(shard: Shard) -> None:
    shard.fold(change(4, renamed("b", "a")), change(5, altered("a")))
    assert shard.partitions() == {"other": b"p"}


def test_what_was_read_after_the_late_event_has_its_change(shard: Shard) -> None:
    shard.fold(*load(4, "b", "other"), change(4, altered("a")))
    assert shard.partitions() == {"b": b"p", "other": b"p"}
    assert shard.cold() is None


def test_a_load_that_was_open_counts_no_more(shard: Shard) -> None:
    begin, rows, end = load(3, "b", "other")
    shard.fold(begin, rows, change(4, altered("a")), end)
    assert ("b",) in shard.doubtful()
    assert shard.partitions() == {"other": b"p"}


@pytest.mark.parametrize("is_reset", [False, True])
def test_renames_outlast_an_order_to_load_the_table(shard: Shard, is_reset: bool) -> None:
    shard.fold(ResetTable(0, 3, TABLE) if is_reset else change(4))
    shard.fold(*load(4, "b", "other"), change(5, altered("a"), after=3))
    assert ("b",) in shard.doubtful()


UNKNOWN: dict[str, list[AnyRecord]] = {
    "epoch": [Reset(1, 3)],
    "gap": [change(4, after=3)],
    "lists": [SetLists(0, 1, (), ("db.t",)), SetLists(0, 2, (), ())],
}
"""After these, renames before event 3 may be unknown."""


@pytest.mark.parametrize("cause", UNKNOWN)
@pytest.mark.parametrize("is_loading", [False, True])
@pytest.mark.parametrize(
    "late",
    [altered("a"), altered("a", truncates=True), altered_alone("a"), drop("a"), renamed("a", "c")],
    ids=["alters", "truncation", "alter", "drop", "rename"],
)
def test_a_late_event_may_have_changed_any_partition_if_a_rename_isn_t_known(
    late: AnyAction, is_loading: bool, cause: str
) -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(image())), change(2, add("a", "other")))
    shard.fold(*UNKNOWN[cause])
    epoch, at = shard.head.epoch, max(shard.applied, 3)
    begin, rows, end = (replace(record, epoch=epoch) for record in load(at, "b", "other"))
    event = change(at + 1, late, epoch=epoch, after=at)
    shard.fold(begin, rows, *((event, end) if is_loading else (end, event)))
    assert shard.cold() is Cold.DOUBT


def test_an_event_of_a_known_partition_means_that_one() -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(image())), change(3, after=2))
    shard.fold(*load(3, "a", "other"), change(4, drop("a")))
    assert shard.partitions() == {"other": b"p"}
    assert shard.cold() is None


@pytest.mark.parametrize("is_early", [False, True])
def test_a_drop_during_a_load_may_mean_a_partition_that_the_load_brings(is_early: bool) -> None:
    shard = Shard()
    shard.fold(change(1, CreateTable(image())), change(3, after=2))
    begin, rows, end = load(3, "a", "b", "other")
    drops = change(4, drop("a")), change(5, drop("b")), change(6, add("b"))
    shard.fold(begin, *((*drops, rows) if is_early else (rows, *drops)), end)
    assert shard.cold() is None
    assert shard.partitions() == {"b": b"p", "other": b"p"}


def test_a_rename_is_forgotten_when_no_writer_can_have_read_before_it(shard: Shard) -> None:
    last = 3 + MISNAMED_EVENTS_MAX
    shard.fold(change(last, altered("a"), after=3))
    assert ("b",) in shard.doubtful()
    shard.fold(*load(last, "b", "other"), change(last + 1, altered("a")))
    assert shard.doubtful() == {("a",)}
    shard.fold(change(last + 2, renamed("b", "c")))
    assert len(_renames(shard)) == 1


def test_a_table_that_is_dropped_takes_its_renames_along(shard: Shard) -> None:
    shard.fold(change(4, DropTable(TABLE)))
    assert not _renames(shard)


def _renames(shard: Shard) -> list[bytes]:
    prefix = keys.of_table(keys.RENAMED_PARTITION, TABLE)
    return [key for key, _ in shard.store.snapshot().scan(prefix, prefix + b"\xff")]
