"""That PostgreSQL finds the same partitions by the SQL that the metastore would send it."""

from collections.abc import Callable, Iterator, Sequence

import psycopg
import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from hive.filters.partition_filter import by_filter
from hive.filters.semantics import PartitionKey
from hive.names import partition_name
from metatide.stack.postgres import connect
from tests.hive.filters.corpus import Corpus, Filter

pytestmark = pytest.mark.slow

TWINS = ("a", "k_1", "kx1", "k_1_x", "k", "x", "z")
TABLES = [
    Corpus([PartitionKey("s", "string"), PartitionKey("i", "int"), PartitionKey("d", "date")]),
    Corpus([PartitionKey("b", "bigint"), PartitionKey("t", "timestamp")]),
    Corpus([PartitionKey("s", "string")]),
    Corpus([PartitionKey("d", "date")]),
    Corpus([PartitionKey("t", "timestamp")]),
    # Where the `_` in names, taken as any character, makes keys look like others.
    Corpus([PartitionKey(name, "string") for name in TWINS]),
    Corpus([PartitionKey(name, "int") for name in TWINS]),
]


@pytest.fixture(scope="module")
def database(new_database: Callable[[], str]) -> Iterator[psycopg.Connection]:
    with connect(sa.make_url(new_database())) as connection:
        yield connection


def in_sql(
    database: psycopg.Connection,
    keys: Sequence[PartitionKey],
    partitions: Sequence[tuple[str, ...]],
    filter_: Filter,
) -> list[list[str]]:
    names = [key.name for key in keys]
    columns = ["name", *(f"v{number}" for number in range(len(keys)))]
    row = f"({', '.join(['%s::text'] * len(columns))})"
    matching = database.execute(
        f"SELECT * FROM (VALUES {', '.join([row] * len(partitions))})"
        f" AS partitions ({', '.join(columns)}) WHERE {filter_.sql.text}",
        [
            *(text for values in partitions for text in (partition_name(names, values), *values)),
            *filter_.sql.parameters,
        ],
    ).fetchall()
    return sorted(values for _, *values in map(list, matching))


@pytest.mark.parametrize("corpus", TABLES, ids=lambda corpus: "-".join(k.name for k in corpus.keys))
@settings(max_examples=60)
@given(data=st.data())
def test_the_same_as_in_sql(
    database: psycopg.Connection, corpus: Corpus, data: st.DataObject
) -> None:
    partitions = data.draw(st.lists(corpus.partitions(), min_size=1, max_size=12, unique=True))
    one = data.draw(corpus.filters())
    matches = by_filter(one.text, corpus.keys).matches
    ours = sorted(list(values) for values in partitions if matches(values))
    assert ours == in_sql(database, corpus.keys, partitions, one)
