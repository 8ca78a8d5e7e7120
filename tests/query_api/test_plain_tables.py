"""What is remembered of the values of a table's partitions changes no answer of a filter."""

from collections.abc import Iterable, Sequence
from itertools import repeat

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive.errors import FilterNotSupportedError
from hive.filters.semantics import PartitionKey
from hive.names import DEFAULT_PARTITION, TableName
from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION, TABLE
from query_api import plain_tables
from query_api.cached_objects import CachedObjects
from query_api.objects import Values
from query_api.plain_tables import OwnReader, PlainTables
from query_api.reads.partitions import ListPartitionNames, PartitionSelection
from query_api.shards import Views
from state import entries, keys
from state.shard_reader import ShardReader
from state.store import MemoryStore, StorePosition
from state.store import commits as module
from tests.query_api.shards import MemoryShard, MemoryShards

TABLE_NAME, OTHER = (TableName("hive", "d", name) for name in ("t", "other"))
COLUMNS = PartitionKey("k", "int"), PartitionKey("n", "int")
FILTERS = [
    *("k >= 10 and k < 20", "k between 2 and 12", "k > 5 and n > 1", "k < 3 or n = 2"),
    *("(k) in (1, 10)", "k > 5 and n != 7", "k = 1 and n >= 0", "n > 1"),
]
PLAIN = ["1", "2", "10", "11", "19", "100"]
VALUES = st.tuples(*repeat(st.sampled_from([*PLAIN * 3, "abc", "1.5", "", DEFAULT_PARTITION]), 2))
Change = tuple[TableName, str, Values]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from([TABLE_NAME, TABLE_NAME, OTHER]),
        st.sampled_from(["put", "put", "drop"]),
        VALUES,
    ),
    max_size=3,
)
QUESTIONS = st.lists(st.tuples(st.integers(0, 3), st.sampled_from(FILTERS)), max_size=4)


def commit(store: MemoryStore, changes: Iterable[Change]) -> None:
    transaction = store.transaction()
    for table, kind, values in changes:
        data = entries.encode(1, encode(PARTITION, {"values": list(values)}))
        if kind == "put":
            transaction.put(keys.partition(table, values), data)
        else:
            transaction.delete(keys.partition(table, values))
    store.commit(transaction, StorePosition(0, 0, store.position.offset + 1))


def set_keys(store: MemoryStore, columns: Sequence[PartitionKey]) -> None:
    fields = [{"name": column.name, "type": column.type} for column in columns]
    transaction = store.transaction()
    data = entries.encode(1, encode(TABLE, {"partitionKeys": fields}))
    transaction.put(keys.of_table(keys.TABLE, TABLE_NAME), data)
    store.commit(transaction, StorePosition(0, 0, store.position.offset + 1))


def reader_of(store: MemoryStore, tables: PlainTables, commit: int | None = None) -> OwnReader:
    commit = store.commits.count if commit is None else commit
    return OwnReader(store.snapshot(), tables, store.commits, commit)


def names(reader: ShardReader, text: str) -> list[str] | None:
    """The names that pass; None if the filter is refused."""
    read = ListPartitionNames(TABLE_NAME, PartitionSelection(filter=text))
    try:
        return list(read.answer(CachedObjects(lambda _: reader)).items)
    except FilterNotSupportedError:
        return None


@given(st.lists(st.tuples(CHANGES, QUESTIONS), max_size=12), st.sampled_from([2, 5, 4096]))
@settings(max_examples=300, deadline=None)
def test_readers_of_all_moments_say_what_those_without_memory_do(
    steps: Sequence[tuple[Sequence[Change], Sequence[tuple[int, str]]]], partitions_max: int
) -> None:
    """Whatever older readers have remembered, and whichever are asked in between."""
    store, tables = MemoryStore(), PlainTables()
    set_keys(store, COLUMNS)
    readers: list[OwnReader] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PARTITIONS_MAX", partitions_max)
        for changes, questions in steps:
            commit(store, changes)
            readers.append(reader_of(store, tables))
            for back, text in questions:
                reader = readers[-1 - min(back, len(readers) - 1)]
                assert names(reader, text) == names(ShardReader(reader.view), text)


def test_a_value_out_of_the_range_that_is_no_number_has_the_filter_refused() -> None:
    store, tables = MemoryStore(), PlainTables()
    set_keys(store, COLUMNS)
    commit(store, [(TABLE_NAME, "put", (value, "1")) for value in PLAIN])
    for _ in range(3):
        assert names(reader_of(store, tables), FILTERS[0]) == ["k=10/n=1", "k=11/n=1", "k=19/n=1"]
    commit(store, [(TABLE_NAME, "put", ("abc", "1"))])
    assert names(reader_of(store, tables), FILTERS[0]) is None
    commit(store, [(TABLE_NAME, "drop", ("abc", "1"))])
    assert names(reader_of(store, tables), FILTERS[0]) == ["k=10/n=1", "k=11/n=1", "k=19/n=1"]


def test_an_empty_value_counts_although_its_key_is_that_of_the_default_partition() -> None:
    store, tables = MemoryStore(), PlainTables()
    set_keys(store, COLUMNS)
    commit(store, [(TABLE_NAME, "put", ("10", "1")), (TABLE_NAME, "put", (DEFAULT_PARTITION, "1"))])
    for _ in range(3):
        assert names(reader_of(store, tables), FILTERS[0]) == ["k=10/n=1"]
    commit(store, [(TABLE_NAME, "put", ("", "1"))])
    assert names(reader_of(store, tables), FILTERS[0]) is None


def test_readers_of_a_worker_share_what_is_remembered() -> None:
    store = MemoryStore()
    views = Views(MemoryShards(MemoryShard(store=store)))
    set_keys(store, COLUMNS)
    readers = [views.own_reader(0), views.own_reader(0)]
    first, second = (reader for reader in readers if isinstance(reader, OwnReader))
    assert first.plain_tables is second.plain_tables
    assert (first.commits, first.commit) == (store.commits, store.commits.count)


def test_of_two_views_of_a_commit_one_may_show_the_next() -> None:
    """A commit is noted before it shows, and shows before it counts."""
    store, tables = MemoryStore(), PlainTables()
    set_keys(store, COLUMNS)
    commit(store, [(TABLE_NAME, "put", ("abc", "1"))])
    count = store.commits.count
    before = reader_of(store, tables)
    commit(store, [(TABLE_NAME, "drop", ("abc", "1"))])
    after = reader_of(store, tables, count)
    readers = (after, after, after, before, after)
    assert [names(reader, FILTERS[0]) for reader in readers] == [[], [], [], None, []]


def test_other_types_of_the_keys_make_other_values_plain() -> None:
    store, tables = MemoryStore(), PlainTables()
    set_keys(store, [PartitionKey("k", "date"), COLUMNS[1]])
    commit(store, [(TABLE_NAME, "put", ("2024-01-01", "1"))])
    for _ in range(3):
        assert names(reader_of(store, tables), "k > '2024-02-01'") == []
    set_keys(store, COLUMNS)
    assert names(reader_of(store, tables), "k between 7 and 8") is None


class Looks:
    """Asks whether values are plain, and counts the times at which all partitions are read."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.count = 0
        self._tables = PlainTables()

    def are_plain(self, *positions: int) -> bool:
        reader = reader_of(self.store, self._tables)

        def read() -> Iterable[Values]:
            self.count += 1
            return (values for values, _ in reader.partitions(TABLE_NAME))

        return self._tables.are_plain(TABLE_NAME, COLUMNS, frozenset(positions), reader, read)


def test_all_partitions_are_read_once_and_then_those_that_are_put() -> None:
    looks = Looks()
    store = looks.store
    commit(store, [(TABLE_NAME, "put", ("1", "1"))])
    assert [looks.are_plain(0, 1), looks.count] == [False, 0]
    commit(store, [(TABLE_NAME, "put", ("2", "1")), (OTHER, "put", ("abc", "1"))])
    assert [looks.are_plain(0, 1), looks.count] == [True, 1]
    commit(store, [(TABLE_NAME, "put", ("3", "1"))])
    commit(store, [(TABLE_NAME, "drop", ("1", "1"))])
    assert [looks.are_plain(0, 1), looks.count] == [True, 1]
    commit(store, [(TABLE_NAME, "put", ("3", "abc"))])
    assert [looks.are_plain(0), looks.are_plain(1), looks.count] == [True, False, 1]


def test_values_that_are_gone_are_forgotten() -> None:
    looks = Looks()
    commit(looks.store, [(TABLE_NAME, "put", ("3", "abc"))])
    assert [looks.are_plain(1), looks.are_plain(1), looks.are_plain(1)] == [False] * 3
    assert looks.count == 1
    commit(looks.store, [(TABLE_NAME, "drop", ("3", "abc"))])
    assert [looks.are_plain(0), looks.are_plain(1), looks.count] == [True, False, 1]
    assert [looks.are_plain(1), looks.are_plain(0), looks.count] == [True, True, 2]


def test_few_tables_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_tables, "TABLES_MAX", 1)
    store, tables = MemoryStore(), PlainTables()
    for table in (TABLE_NAME, OTHER, TABLE_NAME):
        reader = reader_of(store, tables)
        assert not tables.are_plain(table, COLUMNS, frozenset((0,)), reader, lambda: [])
    assert list(tables._summaries) == [TABLE_NAME]


def test_nobody_looks_at_what_could_not_be_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PARTITIONS_MAX", 1)
    looks = Looks()
    for number in range(3):
        commit(looks.store, [(TABLE_NAME, "put", (str(number), text)) for text in PLAIN])
        assert [looks.are_plain(0), looks.count] == [False, 0]
    assert [looks.are_plain(0), looks.count] == [True, 1]
