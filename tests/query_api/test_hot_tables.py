"""What is remembered of tables is what a reader of the same snapshot says."""

from collections.abc import Sequence

from hypothesis import given, settings
from hypothesis import strategies as st

from hive.names import TableName
from query_api.hot_tables import HotTables, SharedReader
from state import entries, keys, tables
from state.loads import Loads
from state.shard_reader import ShardReader
from state.store import MemoryStore, StorePosition
from state.tables import TableState

NAMES = [TableName("hive", "db", name) for name in ("a", "b", "c")]
CHANGES = st.lists(
    st.tuples(
        st.sampled_from(NAMES),
        st.sampled_from(["state", "table", "drop", "partition"]),
        st.integers(1, 3),
    ),
    max_size=3,
)
ASKED = st.lists(st.tuples(st.integers(0, 5), st.sampled_from(NAMES)), max_size=4)


def commit(store: MemoryStore, changes: Sequence[tuple[TableName, str, int]]) -> None:
    transaction = store.transaction()
    for name, kind, number in changes:
        table_key = keys.of_table(keys.TABLE, name)
        if kind == "state":
            state = TableState(Loads(floor=number), Loads(), id=number)
            transaction.put(keys.of_table(keys.TABLE_STATE, name), tables.encode(state))
        elif kind == "table":
            transaction.put(table_key, entries.encode(number, b"x" * number))
        elif kind == "drop":
            transaction.put(table_key, entries.tombstone(number))
        else:
            transaction.put(keys.partition(name, ("1",)), entries.encode(number, b"p"))
    store.commit(transaction, StorePosition(0, 0, store.position.offset + 1))


def data(reader: ShardReader, name: TableName) -> bytes | None:
    entry = reader.table(name)
    return None if entry is None else entry.data


@given(st.lists(st.tuples(CHANGES, ASKED), max_size=12), st.sampled_from([1, 60, 10_000]))
@settings(max_examples=300, deadline=None)
def test_readers_of_all_moments_say_what_plain_ones_do(
    steps: Sequence[tuple[Sequence[tuple[TableName, str, int]], Sequence[tuple[int, TableName]]]],
    bytes_max: int,
) -> None:
    """Whatever older readers have remembered, and whichever are asked in between."""
    store, hot = MemoryStore(), HotTables(bytes_max)
    readers: list[tuple[SharedReader, ShardReader]] = []
    for changes, questions in steps:
        commit(store, changes)
        view = store.snapshot()
        shared = SharedReader(view, hot, store.commits, store.commits.count)
        readers.append((shared, ShardReader(view)))
        for back, name in questions:
            shared, plain = readers[-1 - min(back, len(readers) - 1)]
            assert shared.table(name) == plain.table(name)
            assert shared.state(name) == plain.state(name)


def test_of_two_views_of_a_commit_one_may_show_the_next() -> None:
    """A commit is noted before it shows, and shows before it counts."""
    store, hot, name = MemoryStore(), HotTables(), NAMES[0]
    commit(store, [(name, "table", 1)])
    count = store.commits.count
    before = SharedReader(store.snapshot(), hot, store.commits, count)
    assert data(before, name) == b"x"
    commit(store, [(name, "table", 2)])
    after = SharedReader(store.snapshot(), hot, store.commits, count)
    assert [data(reader, name) for reader in (after, before, after)] == [b"xx", b"x", b"xx"]


def test_the_tables_read_first_are_forgotten_first() -> None:
    store, hot = MemoryStore(), HotTables(bytes_max=60)
    commit(store, [(name, "table", 3) for name in NAMES])
    reader = SharedReader(store.snapshot(), hot, store.commits, store.commits.count)
    for name in NAMES:
        reader.table(name)
    assert list(hot) == NAMES[-len(list(hot)) :]
    assert 0 < len(list(hot)) < len(NAMES)
