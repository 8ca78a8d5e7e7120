"""What every store does alike: the one in RocksDB and its twin in memory."""

import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from state.kv import Transaction, View, after, delete_prefix, scan_prefix
from state.store import MemoryBudget, MemoryStore, Store, StorePosition
from tests.state.store.conftest import FAMILIES, IDENTITY, Opener

AnyStore = Store | MemoryStore


@pytest.fixture(params=["rocksdb", "memory"])
def store(request: pytest.FixtureRequest, tmp_path: Path, opener: Opener) -> Iterator[AnyStore]:
    if request.param == "memory":
        yield MemoryStore()
    else:
        with opener(tmp_path / "shard") as opened:
            yield opened


def fill(store: AnyStore, *keys: bytes) -> None:
    transaction = store.transaction()
    for key in keys:
        transaction.put(key, b"old " + key)
    store.commit(transaction, StorePosition(0, 1, store.position.offset + 1))


def keys_of(view: View, start: bytes, end: bytes) -> list[bytes]:
    found = [key for key, _ in view.scan(start, end)]
    for most in (1, len(found), len(found) + 1):
        assert view.keys(start, end, most) == found[:most]
    return found


def test_a_transaction_reads_its_own_writes_and_others_dont(store: AnyStore) -> None:
    fill(store, b"pa", b"pb", b"pc")
    transaction: Transaction = store.transaction()
    transaction.put(b"pb", b"new")
    transaction.delete(b"pc")
    transaction.put(b"pd", b"new")
    assert [transaction.get(key) for key in (b"pa", b"pb", b"pc", b"pd")] == [
        b"old pa",
        b"new",
        None,
        b"new",
    ]
    assert list(transaction.scan(b"p", b"q")) == [
        (b"pa", b"old pa"),
        (b"pb", b"new"),
        (b"pd", b"new"),
    ]
    assert keys_of(store.snapshot(), b"p", b"q") == [b"pa", b"pb", b"pc"]


def test_a_commit_shows_changes_and_position_together(store: AnyStore) -> None:
    before = store.snapshot()
    transaction = store.transaction()
    transaction.put(b"pa", b"1")
    store.commit(transaction, StorePosition(3, 40, 7))
    assert store.position == StorePosition(3, 40, 7)
    assert (before.position, before.get(b"pa")) == (StorePosition(), None)
    now = store.snapshot()
    assert (now.position, now.get(b"pa")) == (StorePosition(3, 40, 7), b"1")


def test_a_committed_transaction_is_empty_and_goes_on(store: AnyStore) -> None:
    transaction = store.transaction()
    transaction.put(b"pa", b"1")
    transaction.delete_range(b"s", b"t")
    store.commit(transaction, StorePosition(0, 1, 1))
    assert not transaction.changes
    assert not transaction.ranges
    assert transaction.get(b"pa") == b"1"
    transaction.put(b"pb", b"2")
    store.commit(transaction, StorePosition(0, 2, 2))
    assert keys_of(store.snapshot(), b"p", b"q") == [b"pa", b"pb"]


def test_a_snapshot_keeps_its_moment_for_gets_and_scans(store: AnyStore) -> None:
    fill(store, b"pa", b"pb", b"sa", b"xa")
    snapshot = store.snapshot()
    transaction = store.transaction()
    transaction.delete_range(b"p", b"q")
    transaction.put(b"pz", b"new")
    transaction.put(b"sa", b"new")
    transaction.delete(b"xa")
    store.commit(transaction, StorePosition(0, 2, 2))
    assert snapshot.position == StorePosition(0, 1, 1)
    assert snapshot.get(b"pa") == b"old pa"
    assert snapshot.get(b"pz") is None
    assert keys_of(snapshot, b"p", b"q") == [b"pa", b"pb"]
    assert list(snapshot.scan(b"s", b"t")) == [(b"sa", b"old sa")]
    assert keys_of(snapshot, b"x", b"y") == [b"xa"]


def test_ranges_are_half_open_and_may_be_empty(store: AnyStore) -> None:
    fill(store, b"pa", b"pb", b"pc")
    for view in (store.snapshot(), store.transaction()):
        assert keys_of(view, b"pa", b"pc") == [b"pa", b"pb"]
        assert keys_of(view, b"pb", b"pb") == []
        assert keys_of(view, b"pc", b"pa") == []
    transaction = store.transaction()
    transaction.delete_range(b"pc", b"pa")
    transaction.delete_range(b"pa", b"pc")
    assert keys_of(transaction, b"p", b"q") == [b"pc"]


def test_what_is_put_after_a_range_deletion_stays(store: AnyStore) -> None:
    fill(store, b"pa", b"pb", b"pc")
    transaction = store.transaction()
    transaction.put(b"pb", b"lost")
    transaction.delete_range(b"pa", b"pc")
    transaction.put(b"pa", b"new")
    assert transaction.get(b"pb") is None
    assert list(transaction.scan(b"p", b"q")) == [(b"pa", b"new"), (b"pc", b"old pc")]
    store.commit(transaction, StorePosition(0, 2, 2))
    assert list(store.snapshot().scan(b"p", b"q")) == [(b"pa", b"new"), (b"pc", b"old pc")]


def test_deleting_what_a_scan_gives_is_safe(store: AnyStore) -> None:
    fill(store, *(b"p%d" % number for number in range(9)))
    transaction = store.transaction()
    transaction.put(b"p44", b"new")
    seen_keys = []
    for key, _ in transaction.scan(b"p3", b"p7"):
        seen_keys.append(key)
        transaction.delete(key)
        transaction.put(b"p5" + key, b"later")
    assert seen_keys == [b"p3", b"p4", b"p44", b"p5", b"p6"]
    assert transaction.get(b"p4") is None


def test_a_scan_goes_on_over_a_commit(store: AnyStore) -> None:
    fill(store, b"pa", b"pb", b"pc")
    transaction = store.transaction()
    scan = transaction.scan(b"p", b"q")
    assert next(scan)[0] == b"pa"
    transaction.delete_range(b"p", b"q")
    store.commit(transaction, StorePosition(0, 2, 2))
    assert [key for key, _ in scan] == [b"pb", b"pc"]


def test_scans_of_one_snapshot_dont_disturb_each_other(store: AnyStore) -> None:
    fill(store, *(b"p%02d" % number for number in range(20)))
    snapshot = store.snapshot()
    pairs = zip(snapshot.scan(b"p00", b"p10"), snapshot.scan(b"p05", b"p15"), strict=True)
    for index, (left, right) in enumerate(pairs):
        assert left[0] == b"p%02d" % index
        assert right[0] == b"p%02d" % (index + 5)


def test_prefixes(store: AnyStore) -> None:
    fill(store, b"pa", b"pa\x00", b"pa\xff", b"pa\xff\xff1", b"pb")
    snapshot = store.snapshot()
    assert [key for key, _ in scan_prefix(snapshot, b"pa\xff")] == [b"pa\xff", b"pa\xff\xff1"]
    assert len(list(scan_prefix(snapshot, b"pa"))) == 4
    assert after(b"p\xff\xff") == b"q"


def test_a_range_over_several_kinds_is_a_mistake(store: AnyStore) -> None:
    """Kinds live in different column families, so such a range would miss some of its keys."""
    for view in (store.snapshot(), store.transaction()):
        with pytest.raises(AssertionError, match="crosses kinds"):
            view.scan(b"p", b"t")
        assert keys_of(view, b"p", b"q") == []
    with pytest.raises(AssertionError, match="crosses kinds"):
        store.transaction().delete_range(b"pa", b"qa")


@pytest.mark.parametrize("count", [10, 1000])
def test_keys_that_come_between_scans_are_brought_into_order(store: AnyStore, count: int) -> None:
    transaction = store.transaction()
    keys = [b"p%05d" % (number * 7919 % 100_000) for number in range(count)]
    for number, key in enumerate(keys):
        transaction.put(key, b"")
        if number % 9 == 0:
            assert keys_of(transaction, b"p", b"q") == sorted(keys[: number + 1])
    assert keys_of(transaction, b"p", b"q") == sorted(keys)


def test_the_topic_is_not_gone_back_in(store: AnyStore) -> None:
    fill(store, b"pa")
    with pytest.raises(AssertionError, match="goes back"):
        store.commit(store.transaction(), StorePosition(0, 1, 0))


KEYS = st.builds(
    lambda kind, rest: kind + rest,
    st.sampled_from([b"p", b"s", b"S", b"x"]),
    st.text("ab\x00\xff", max_size=3).map(lambda text: text.encode("latin-1")),
)


class Model(RuleBasedStateMachine):
    """A store against two dictionaries: what is committed, and what its transaction sees."""

    make: Callable[[], AnyStore]

    @initialize()
    def start(self) -> None:
        self.store = self.make()
        self.transaction = self.store.transaction()
        self.committed: dict[bytes, bytes] = {}
        self.pairs: dict[bytes, bytes] = {}
        self.snapshots: list[tuple[Any, dict[bytes, bytes]]] = []
        self.scans: list[tuple[Iterator[tuple[bytes, bytes]], list[tuple[bytes, bytes]]]] = []

    @rule(key=KEYS, value=st.binary(max_size=3))
    def put(self, key: bytes, value: bytes) -> None:
        self.transaction.put(key, value)
        self.pairs[key] = value

    @rule(entries=st.lists(st.tuples(KEYS, st.binary(max_size=3)), max_size=3))
    def put_all(self, entries: list[tuple[bytes, bytes]]) -> None:
        self.transaction.put_all(entries)
        self.pairs.update(entries)

    @rule(key=KEYS)
    def delete(self, key: bytes) -> None:
        self.transaction.delete(key)
        self.pairs.pop(key, None)

    @rule(start=KEYS, end=KEYS)
    def delete_range(self, start: bytes, end: bytes) -> None:
        end = start[:1] + end[1:]
        self.transaction.delete_range(start, end)
        self.pairs = {key: self.pairs[key] for key in self.pairs if not start <= key < end}

    @rule(key=KEYS)
    def delete_prefix(self, key: bytes) -> None:
        delete_prefix(self.transaction, key)
        self.pairs = {other: self.pairs[other] for other in self.pairs if not other.startswith(key)}

    @rule()
    def commit(self) -> None:
        offset = self.store.position.offset + 1
        self.store.commit(self.transaction, StorePosition(0, offset, offset))
        self.committed = dict(self.pairs)

    @rule()
    def give_up(self) -> None:
        self.transaction = self.store.transaction()
        self.pairs = dict(self.committed)

    @rule()
    def take_snapshot(self) -> None:
        self.snapshots = [*self.snapshots[-2:], (self.store.snapshot(), dict(self.committed))]

    @rule(start=KEYS, end=KEYS)
    def start_scan(self, start: bytes, end: bytes) -> None:
        end = start[:1] + end[1:]
        expected = sorted((key, value) for key, value in self.pairs.items() if start <= key < end)
        self.scans.append((self.transaction.scan(start, end), expected))

    @rule(steps=st.integers(1, 4))
    def step_scans(self, steps: int) -> None:
        for scan, expected in self.scans:
            assert list(itertools.islice(scan, steps)) == expected[:steps]
            del expected[:steps]

    @rule(key=KEYS)
    def get(self, key: bytes) -> None:
        assert self.transaction.get(key) == self.pairs.get(key)
        for snapshot, expected in self.snapshots:
            assert snapshot.get(key) == expected.get(key)

    @rule(keys=st.lists(KEYS, min_size=1))
    def get_several(self, keys: list[bytes]) -> None:
        keys = [key for key in keys if key[0] == keys[0][0]]
        for view, expected in [(self.transaction, self.pairs), *self.snapshots]:
            assert view.values(keys) == [expected.get(key) for key in keys]

    @invariant()
    def scans_agree(self) -> None:
        for kind in (b"p", b"s", b"S", b"x"):
            views = [(self.transaction, self.pairs), *self.snapshots]
            for view, expected in views:
                entries = sorted(entry for entry in expected.items() if entry[0][:1] == kind)
                assert list(scan_prefix(view, kind)) == entries
                assert view.keys(kind, after(kind), 3) == [key for key, _ in entries[:3]]


class MemoryModel(Model):
    make = MemoryStore


class RocksModel(Model):
    """With reopening; what was not committed is lost then."""

    budget = MemoryBudget(8 * 1024 * 1024)

    def make(self) -> Store:
        self.directory = tempfile.TemporaryDirectory()
        return self.open()

    def open(self) -> Store:
        path = Path(self.directory.name) / "shard"
        return Store(path, IDENTITY, families=FAMILIES, budget=self.budget)

    @rule()
    def reopen(self) -> None:
        position = self.store.position
        self.let_go()
        self.store = self.open()
        assert self.store.position == position
        self.give_up()

    @rule()
    def compact(self) -> None:
        assert isinstance(self.store, Store)
        self.store.compact()

    def let_go(self) -> None:
        assert isinstance(self.store, Store)
        self.snapshots = []
        self.scans = []
        self.store.close()

    def teardown(self) -> None:
        self.let_go()
        self.directory.cleanup()


MemoryModel.TestCase.settings = settings(max_examples=100, deadline=None)
RocksModel.TestCase.settings = settings(max_examples=30, stateful_step_count=30, deadline=None)
TestMemoryModel = MemoryModel.TestCase
TestRocksModel = RocksModel.TestCase
