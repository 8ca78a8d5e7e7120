"""No two entities share a key, keys keep the order of values, and prefixes are exact."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from hive.names import DEFAULT_PARTITION, DatabaseName, TableName
from state import keys
from state.kv import after
from state.records.objects import ConstraintKind

texts = st.text(
    alphabet=st.one_of(st.sampled_from("\x00\x01a\xff"), st.characters(codec="utf-8")), max_size=4
)
tables = st.builds(TableName, texts, texts, texts)
filled = texts.filter(bool)
values = st.lists(filled, min_size=1, max_size=3).map(tuple)
entities = st.one_of(
    st.tuples(st.just("table"), tables),
    st.tuples(st.just("partition"), tables, values),
    st.tuples(st.just("table_statistics"), tables, texts, texts),
    st.tuples(st.just("partition_statistics"), tables, values, texts, texts),
    st.tuples(st.just("constraint"), tables, texts, st.sampled_from(ConstraintKind)),
    st.tuples(st.just("name"), st.builds(DatabaseName, texts, texts), texts),
    st.tuples(st.just("function"), st.builds(DatabaseName, texts, texts), texts),
    st.tuples(st.just("txn"), st.integers(0, 2**63 - 1)),
)


def key_of(entity: tuple[object, ...]) -> bytes:
    kind, *rest = entity
    if kind == "table":
        return keys.of_table(keys.TABLE, *rest)  # type: ignore[arg-type]
    key = getattr(keys, str(kind))(*rest)
    assert isinstance(key, bytes)
    return key


@given(entities, entities)
def test_no_two_entities_share_a_key(one: tuple[object, ...], other: tuple[object, ...]) -> None:
    assert (key_of(one) == key_of(other)) == (one == other)


@given(tables, st.lists(st.lists(filled, min_size=2, max_size=2).map(tuple), max_size=6))
def test_partitions_are_in_the_order_of_their_values(
    table: TableName, many: list[tuple[str, ...]]
) -> None:
    by_bytes = sorted(set(many), key=lambda row: [value.encode() for value in row])
    made = [keys.partition(table, row) for row in by_bytes]
    assert all(one < other for one, other in pairwise(made))


@given(tables, values, values)
def test_a_prefix_of_values_has_exactly_the_keys_below_it(
    table: TableName, prefix: tuple[str, ...], row: tuple[str, ...]
) -> None:
    start = keys.partition(table, prefix)
    below = start <= keys.partition(table, row) < after(start)
    assert below == (row[: len(prefix)] == prefix)


@given(tables, tables)
def test_the_range_of_a_table_is_its_own(one: TableName, other: TableName) -> None:
    prefix = keys.of_table(keys.PARTITION, one)
    assert keys.partition(other, ("v",)).startswith(prefix) == (one == other)


@given(tables, values)
def test_a_key_tells_its_table_and_its_values(table: TableName, row: tuple[str, ...]) -> None:
    key = keys.partition(table, row)
    assert keys.table_of(key) == table
    assert keys.partition_values(key) == row


@given(tables, values, st.lists(texts, max_size=2).map(tuple))
def test_values_of_one_name_are_one_partition(
    table: TableName, before: tuple[str, ...], behind: tuple[str, ...]
) -> None:
    """The metastore has no two partitions of one name, and drops one by either spelling."""
    empty, default = ((*before, one, *behind) for one in ("", DEFAULT_PARTITION))
    assert keys.partition(table, empty) == keys.partition(table, default)
    one, other = (keys.partition_statistics(table, row, "e", "c") for row in (empty, default))
    assert one == other


@given(st.builds(DatabaseName, texts, texts), tables)
def test_a_databases_range_holds_its_tables(db: DatabaseName, table: TableName) -> None:
    inside = keys.of_table(keys.TABLE, table).startswith(keys.of_database(keys.TABLE, db))
    assert inside == ((table.catalog, table.db) == (db.catalog, db.db))


def test_kinds_are_one_byte_each_and_differ() -> None:
    assert len(set(keys.KINDS)) == len(keys.KINDS)
    assert all(len(kind) == 1 for kind in keys.KINDS)


@given(st.lists(values, max_size=5))
def test_many_keys_are_split_as_each_alone(rows: list[tuple[str, ...]]) -> None:
    many = [keys.texts(row) for row in rows]
    assert keys.split_many(many) == [keys.split_texts(one) for one in many] == rows


@given(
    tables,
    st.lists(values, max_size=6) | st.lists(st.lists(texts, max_size=3).map(tuple), max_size=6),
)
def test_the_keys_of_several_partitions_are_those_of_each(
    table: TableName, many: list[tuple[str, ...]]
) -> None:
    assert keys.partitions(table, many) == [keys.partition(table, row) for row in many]
