"""What the writer of a store makes of offsets that the topic lacks."""

from collections.abc import Callable

import pytest

from hive.names import table_name
from processors.applier import Applier
from processors.fold import Fold
from state import digest
from state.records import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    LoadRows,
    ResetTable,
    Rows,
    Scope,
    ScopeKind,
    encode,
)
from state.records.objects import TableImage
from state.shard_reader import ShardReader
from state.store import MemoryStore

TABLE = table_name(None, "db", "t")
SCOPE = Scope(ScopeKind.TABLE, TABLE)
IMAGE = TableImage(TABLE, 7, 0, managed=False, partitioned=False, data=b"table")


def load(id_: str, event: int) -> tuple[AnyRecord, ...]:
    return (
        LoadBegin(0, id_, SCOPE),
        LoadRows(0, id_, SCOPE, event, 0, Rows(tables=(IMAGE,))),
        LoadEnd(0, id_, SCOPE, event, event, 1),
    )


LOADED = (Change(0, 0, 5, ()), *load("first", 5))
ORDER = ResetTable(0, 5, TABLE, False)
NEXT = Change(0, 5, 6, ())


def applied(*records: AnyRecord, first: int = 0, store: MemoryStore | None = None) -> MemoryStore:
    store = store or MemoryStore()
    applier = Applier(store)
    applier.skip_to(first)
    for offset, record in enumerate(records, first):
        applier.add(offset, encode(record))
    applier.commit()
    return store


def is_warm(store: MemoryStore) -> bool:
    shard = ShardReader(store.snapshot())
    state = shard.state(TABLE)
    return state is not None and state.cold(shard.head.applied, shard.head.floor) is None


def test_what_was_loaded_before_lost_records_is_cold() -> None:
    """An order may have been among them, though no event was."""
    assert is_warm(applied(*LOADED, NEXT))
    assert not is_warm(applied(*LOADED, ORDER, NEXT))
    store = applied(NEXT, first=len(LOADED) + 1, store=applied(*LOADED))
    assert not is_warm(store)
    assert store.position.offset == len(LOADED) + 2
    assert is_warm(applied(*load("second", 6), first=store.position.offset, store=store))


def test_without_lost_records_nothing_changes() -> None:
    whole = applied(*LOADED, NEXT)
    parts = applied(NEXT, first=len(LOADED), store=applied(*LOADED))
    assert digest.exact(parts.snapshot()) == digest.exact(whole.snapshot())


def test_lost_records_are_committed_though_none_follows() -> None:
    store = applied(first=len(LOADED) + 1, store=applied(*LOADED))
    assert not is_warm(store)
    assert store.position.offset == len(LOADED) + 1
    assert digest.exact(applied(first=9, store=store).snapshot()) == digest.exact(store.snapshot())


@pytest.mark.parametrize(
    "change",
    [
        Applier.skip,
        lambda applier: applier.skip_to(9),
        lambda applier: applier.add(applier.next_offset, b"{}"),
    ],
)
def test_a_change_that_fails_leaves_nothing_for_the_next_commit(
    change: Callable[[Applier], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    store = applied(*LOADED)
    applier, before = Applier(store), store.position

    def fail(fold: Fold, *_: object, **__: object) -> None:
        fold._work.txn.put(b"T", b"half of it")
        raise ZeroDivisionError

    with monkeypatch.context() as failing:
        for name in ("skip", "lose", "apply"):
            failing.setattr(Fold, name, fail)
        failing.setattr("processors.applier.decode", lambda _: NEXT)
        applier.skip_to(applier.next_offset)
        with pytest.raises(ZeroDivisionError):
            change(applier)
    assert applier.commit() == []
    assert (store.position, store.snapshot().get(b"T")) == (before, None)
    applier.add(before.offset, encode(NEXT))
    applier.commit()
    assert is_warm(store)
