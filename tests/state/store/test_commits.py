"""What counts as untouched is what it was."""

from collections.abc import Callable, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hive.names import DatabaseName, TableName
from state import keys, shard_head
from state.kv import after
from state.shard_head import ShardHead
from state.store import Commits, MemoryStore, Overlay, StorePosition
from state.store import commits as module

TEXTS = ("a", "b", "a\x00", "\x00\x01")
TABLES = st.builds(TableName, st.just("hive"), *[st.sampled_from(TEXTS)] * 2)
DATABASES = st.builds(DatabaseName, st.just("hive"), st.sampled_from(TEXTS))
OF_TABLE = st.sampled_from([keys.TABLE_STATE, keys.TABLE, keys.WRITE_IDS, keys.DEFERRED])
Change = Callable[[Overlay], None]


def partition(table: TableName) -> bytes:
    return keys.partition(table, ("2024", "a\x00"))


KEYS = st.one_of(
    st.builds(keys.of_table, OF_TABLE, TABLES),
    st.builds(partition, TABLES),
    st.builds(keys.of_database, st.just(keys.NAMES_LOADS), DATABASES),
    st.builds(keys.name, DATABASES, st.sampled_from(TEXTS)),
    st.builds(keys.function, DATABASES, st.sampled_from(TEXTS)),
    st.builds(keys.of_database, st.just(keys.DATABASE), DATABASES),
    st.builds(keys.of_catalog, st.just(keys.CATALOG_LOADS), st.just("hive")),
    st.builds(keys.txn, st.integers(0, 3)),
)
PREFIXES = st.one_of(
    KEYS,
    st.builds(keys.of_table, st.just(keys.PARTITION), TABLES),
    st.builds(keys.of_database, st.sampled_from([keys.PARTITION, keys.NAME]), DATABASES),
    st.just(keys.PART),
)
HEADS = st.builds(
    ShardHead,
    applied=st.integers(0, 3),
    floor=st.integers(0, 1),
    loads_open=st.integers(0, 1),
    ended_count=st.integers(0, 1),
    mark=st.integers(0, 2),
)


def put(key: bytes, value: bytes) -> Change:
    return lambda transaction: transaction.put(key, value)


def delete(key: bytes) -> Change:
    return lambda transaction: transaction.delete(key)


def delete_below(prefix: bytes) -> Change:
    return lambda transaction: transaction.delete_range(prefix, after(prefix))


def move(head: ShardHead) -> Change:
    return put(keys.HEAD, shard_head.encode(head))


CHANGES = st.one_of(
    st.builds(put, KEYS, st.binary(max_size=1)),
    st.builds(delete, KEYS),
    st.builds(delete_below, PREFIXES),
    st.builds(move, HEADS),
)


def commit(store: MemoryStore, *changes: Change) -> None:
    transaction = store.transaction()
    for change in changes:
        change(transaction)
    store.commit(transaction, StorePosition(0, 0, store.position.offset + 1))


def content(store: MemoryStore) -> dict[bytes, object]:
    """The entries of each group, and what the head says, as readers may know them."""
    entries = store.snapshot().entries
    head = shard_head.decode(entries.get(keys.HEAD))

    def of_group(kinds: bytes, *texts: str) -> tuple[bytes, object]:
        group = keys.texts(("hive", *texts))
        below = [key for key in entries if key[:1] in kinds and key[1:].startswith(group)]
        return group, (head.epoch, head.floor, {key: entries[key] for key in below})

    tables = [of_group(b"TtWApqrk", db, name) for db in TEXTS for name in TEXTS]
    databases = [of_group(b"Nnf", db) for db in TEXTS]
    return dict([*tables, *databases, of_group(b"Dd")])


@given(st.lists(st.lists(CHANGES, max_size=4), max_size=12))
@settings(max_examples=150, deadline=None)
def test_what_counts_as_untouched_is_what_it_was(transactions: Sequence[Sequence[Change]]) -> None:
    store = MemoryStore()
    contents = [content(store)]
    for changes in transactions:
        commit(store, *changes)
        contents.append(content(store))
        for since, before in enumerate(contents):
            for group, entries in before.items():
                if store.commits.untouched([group], since):
                    assert entries == contents[-1][group]


@given(st.lists(st.lists(CHANGES, max_size=4), max_size=12), st.sampled_from([2, 4096]))
@settings(max_examples=150, deadline=None)
def test_what_was_put_includes_all_partitions_that_are_new(
    transactions: Sequence[Sequence[Change]], partitions_max: int
) -> None:
    def partitions(store: MemoryStore) -> dict[bytes, bytes]:
        entries = store.snapshot().entries
        return {key: value for key, value in entries.items() if key[:1] == keys.PARTITION}

    store = MemoryStore()
    before = [partitions(store)]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "PARTITIONS_MAX", partitions_max)
        for changes in transactions:
            commit(store, *changes)
            before.append(partitions(store))
    for since, entries in enumerate(before):
        new = {key for key, value in before[-1].items() if entries.get(key) != value}
        for table in [TableName("hive", db, name) for db in TEXTS for name in TEXTS]:
            prefix = keys.of_table(keys.PARTITION, table)
            put = store.commits.partitions_put(keys.table_suffix(table), since)
            assert put is None or {key for key in new if key.startswith(prefix)} <= set(put)
            assert put is None or all(key.startswith(prefix) for key in put)


def test_the_partitions_of_small_commits_are_remembered() -> None:
    store, table = MemoryStore(), TableName("hive", "db", "a")
    commit(store, touch("a"), move(ShardHead(applied=1)))
    names = [keys.partition(table, (text,)) for text in TEXTS]
    commit(store, *(put(key, b"") for key in names[:2]), touch("a"))
    commit(store, delete(names[0]), put(names[2], b""), touch("b"))
    assert store.commits.partitions_put(of("a"), 1) == names[:3]
    assert store.commits.partitions_put(of("a"), 2) == names[2:3]
    assert store.commits.partitions_put(of("b"), 1) == []
    assert store.commits.partitions_put(of("a"), 0) is None


def of(name: str) -> bytes:
    return keys.table_suffix(TableName("hive", "db", name))


def touch(name: str) -> Change:
    return put(keys.of_table(keys.TABLE, TableName("hive", "db", name)), b"")


def untouched(commits: Commits, since: int, *names: str) -> bool:
    return commits.untouched(map(of, names), since)


def test_a_commit_touches_the_tables_of_its_keys_and_no_others() -> None:
    store = MemoryStore()
    commit(store, touch("a"), move(ShardHead(applied=1)))
    assert not untouched(store.commits, 0, "b"), "nothing is known of the head before"
    commit(store, touch("a"), delete_below(partition(TableName("hive", "db", "c"))))
    commit(store, touch("b"), put(keys.txn(5), b""), move(ShardHead(applied=7, mark=3)))
    assert store.commits.count == 3
    assert untouched(store.commits, 1, "d")
    assert not untouched(store.commits, 1, "a")
    assert not untouched(store.commits, 1, "c")
    assert untouched(store.commits, 2, "a", "c")
    assert not untouched(store.commits, 2, "a", "b")
    assert untouched(store.commits, 3, "b")


def test_what_the_head_says_otherwise_touches_everything() -> None:
    store = MemoryStore()
    commit(store, move(ShardHead(applied=1)))
    commit(store, move(ShardHead(applied=2)))
    assert untouched(store.commits, 1, "a")
    commit(store, move(ShardHead(applied=2, paused=True)))
    assert not untouched(store.commits, 2, "a")
    assert untouched(store.commits, 3, "a")


def test_loads_that_begin_and_end_touch_no_other_table() -> None:
    store = MemoryStore()
    commit(store, move(ShardHead(applied=1)))
    commit(store, move(ShardHead(applied=1, loads_open=1)), touch("a"))
    commit(store, move(ShardHead(applied=2, loads_open=1, ended_count=1)))
    commit(store, move(ShardHead(applied=2)), touch("a"))
    assert untouched(store.commits, 1, "b")
    assert not untouched(store.commits, 1, "a")
    commit(store, move(ShardHead(applied=2, loads_open=1, floor=2)))
    assert not untouched(store.commits, 4, "b")


def test_large_commits_and_many_tables_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "KEYS_MAX", 3)
    monkeypatch.setattr(module, "GROUPS_MAX", 10)
    store = MemoryStore()
    commit(store, *(touch(f"{number}") for number in range(4)))
    assert not untouched(store.commits, 0, "z")
    for number in range(100):
        commit(store, touch(f"{number}"))
        assert not untouched(store.commits, store.commits.count - 1, f"{number}")
        assert len(store.commits._last) <= 11


def test_keys_of_no_known_kind_touch_everything() -> None:
    store = MemoryStore()
    commit(store, put(b"?", b""))
    assert not untouched(store.commits, 0, "a")
    commit(store, put(keys.of_catalog(keys.TABLE, "hive"), b""))
    assert not untouched(store.commits, 1, "a")
