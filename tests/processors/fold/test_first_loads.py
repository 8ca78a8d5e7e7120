from collections.abc import Iterator

from processors.fold import Fold
from state import entries, keys, kv
from state.records import AnyRecord, LoadBegin, LoadEnd, LoadRows, Rows
from state.store import MemoryStore, Overlay, StorePosition
from tests.processors.fold.shard import SCOPE, TABLE, add, change, drop, image, load, partition


class Watched:
    """A store that notes which of its partitions are read."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.read: list[bytes] = []
        self.fold = Fold(Overlay(self))

    def get(self, key: bytes) -> bytes | None:
        if key[:1] == keys.PARTITION:
            self.read.append(key)
        return self.store.transaction().get(key)

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        for entry in self.store.transaction().scan(start, end):
            if entry[0][:1] == keys.PARTITION:
                self.read.append(entry[0])
            yield entry

    def apply(self, *records: AnyRecord) -> None:
        for record in records:
            self.fold.apply(record)
            self.fold.flush()
            txn = self.fold._work.txn
            assert isinstance(txn, Overlay)
            self.store.commit(txn, StorePosition(applied=self.fold.applied))

    def values(self) -> dict[str, int]:
        """The partitions that are stored, with their events."""
        prefix = keys.of_table(keys.PARTITION, TABLE)
        scanned = kv.scan_prefix(self.store.snapshot(), prefix)
        return {keys.partition_values(key)[0]: entries.event_of(value) for key, value in scanned}


def rows(lo: int, number: int, *values: str) -> LoadRows:
    partitions = tuple(map(partition, values))
    return LoadRows(0, "load", SCOPE, lo, number, Rows(tables=(image(),), partitions=partitions))


BEGIN = LoadBegin(0, "load", SCOPE)


def test_a_first_load_reads_no_partition() -> None:
    shard = Watched()
    shard.apply(
        BEGIN, rows(1, 0, "a", "b"), rows(1, 1, "b", "c"), LoadEnd(0, "load", SCOPE, 1, 1, 2)
    )
    assert shard.values() == {"a": 1, "b": 1, "c": 1}
    assert shard.read == []


def test_a_later_load_compares_and_deletes_what_it_did_not_bring() -> None:
    shard = Watched()
    shard.apply(*load(1, "a", "b"), *load(2, "b", id_="later"))
    assert shard.values() == {"b": 2}
    assert shard.read


def test_an_event_during_a_first_load_keeps_what_it_has_written() -> None:
    shard = Watched()
    shard.apply(BEGIN, rows(1, 0, "a"), change(2, add("b")), rows(1, 1, "b", "c"))
    shard.apply(change(3, drop("a")), rows(1, 2, "a"), LoadEnd(0, "load", SCOPE, 1, 1, 3))
    assert shard.values() == {"b": 2, "c": 1}


def test_rows_as_of_an_earlier_event_give_way() -> None:
    shard = Watched()
    shard.apply(BEGIN, rows(2, 0, "a"), rows(1, 1, "a", "b"), LoadEnd(0, "load", SCOPE, 2, 2, 2))
    assert shard.values() == {"a": 2}


def test_rows_from_before_the_end_are_deleted() -> None:
    shard = Watched()
    shard.apply(BEGIN, rows(1, 0, "a"), LoadEnd(0, "load", SCOPE, 2, 2, 1))
    assert shard.values() == {}


def test_a_load_in_place_of_a_first_one_compares() -> None:
    shard = Watched()
    begin, *others = load(1, "b", id_="second")
    shard.apply(BEGIN, rows(1, 0, "a"), begin)
    shard.read.clear()
    shard.apply(*others)
    assert shard.values() == {"b": 1}
    assert shard.read


def test_a_fold_that_goes_on_with_a_first_load_reads_no_partition() -> None:
    shard = Watched()
    shard.apply(BEGIN, rows(1, 0, "a"))
    shard.fold = Fold(Overlay(shard))
    shard.apply(rows(1, 1, "b"), LoadEnd(0, "load", SCOPE, 1, 1, 2))
    assert shard.values() == {"a": 1, "b": 1}
    assert shard.read == []


def test_an_end_without_rows() -> None:
    shard = Watched()
    shard.apply(BEGIN, LoadEnd(0, "load", SCOPE, 1, 1, 0))
    assert shard.values() == {}
    assert shard.read == []
