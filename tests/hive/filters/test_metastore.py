"""That a real metastore's get_partitions_by_filter finds the same partitions, or refuses as we do.

What differs, and is meant to, is listed in docs/filters.md and held here.
"""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st

from hive.errors import FilterError, FilterNotSupportedError, InputError
from hive.filters.partition_filter import by_filter
from hive.filters.semantics import PartitionKey
from hive.names import DEFAULT_PARTITION, partition_name, table_name
from query_api.cached_objects import CachedObjects
from query_api.reads.partitions import ListPartitionNames, PartitionSelection
from state.records.actions import CreateTable, PutPartitions
from tests.hive.filters.corpus import STRINGS, VALUES, Corpus
from tests.hive.filters.narrowing import narrowed
from tests.query_api.shards import MemoryShard, change, partition_image, table_image
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.metastore import Instances

pytestmark = pytest.mark.hive

DATABASE = "filtered"
KEYS = [
    PartitionKey(name, type_)
    for name, type_ in {
        "s": "string",
        "i": "int",
        "day_of": "date",
        "b": "bigint",
        "t": "timestamp",
    }.items()
]
NAMES = tuple(key.name for key in KEYS)
TABLE = table_name(None, DATABASE, "t")
CORPUS = Corpus(KEYS)
PARTITIONS = sorted(
    {
        tuple(pool[number * step % len(pool)] for step, pool in enumerate(pools, 1))
        for pools in [[VALUES[key.type] for key in KEYS]]
        for number in range(60)
    }
)
_PLAIN = ["1998-12-31", *(f"2024-01-{day:02}" for day in range(1, 12)), "2024-03-01"]
_SPELLED = ["20240105", "2024-1-5", "2024-01-6", "2024-01-04 10:00:00", DEFAULT_PARTITION]
DATED = {
    "plain": _PLAIN,
    "spelled": [*_PLAIN, *_SPELLED],
    "one_is_none": [*_PLAIN, "2020-02-30"],
    "one_is_none_and_one_is_missing": [*_PLAIN, "2020-02-30", DEFAULT_PARTITION],
    "one_is_none_of_spelled": [*_PLAIN, *_SPELLED, "2020-02-30"],
}
EDGES = [
    *("s = 'x'", "S = 'x'", "`s` = 'x'", 's == "x"', "", "((((s = 'x'))))", "i<-4", "i = - 5"),
    *(r"s = 'a\\b'", r"s = 'a\b'", "s = 'a' 'b'", "s = 'a' \"b\"", "s = 'a''b'", r"s = 'a\'b'"),
    *("s = ''", "s != ''", "s != 'a_b'", "s != 'a:b'", "i = 01", "i = 1", "i != 1", "i >= -5"),
    *("day_of = 2024-01-01", "day_of != '2024-01-01'", "s = 2024-01-01", "5 > i"),
    *("s = 'x' or s = 'y' and i = 1", "(s) in ('x')", "s like '\\x'", "s like '%'"),
    *("s like 'a.b'", "s like 'a.%'", "s like '.'"),
    *("(i) not in (1) is true", "(i) in (1, 2) is false", "(i = 1 and s = 'x') is not true"),
]
REFUSED = [
    *(
        " ",
        "s",
        "s =",
        "s = 'x' and",
        "(s = 'x'",
        "s in ('x')",
        "not s = 'x'",
        "s <=> 'x'",
        "s = x",
    ),
    *("(struct(s, i)) in (struct('x', 1))", "struct(s, i) in (struct('x', 1), struct('y', 2))"),
    *("(struct(s)) in (struct('x'), struct('y'), struct('z'))", "(s) in ()", "day_of = date 1"),
    *("(struct(s, i)) in (struct('x'), struct('y'))", "s between 'x'", "s is true", "s = 1.5"),
    *("(struct(`s`)) in (struct('x'), struct('y'))", "day_of > 2024-02-30", "t > timestamp 'x'"),
    *("i = 9223372036854775808", "nokey = 1", "s = 1", "i = '1'", "i like '1'", "'x' like s"),
    *("(s like 'x%') is false", "s\u00a0= 'x'", "s = 'x", "date = '2024-01-01'", "s is null"),
    *("lower(s) = 'x'", "s = null", "/", "s = 'x' or", "s >< 'x'", "= 'x'", "s = s"),
]


@pytest.fixture(scope="module")
def client(metastore: Instances) -> Iterator[HmsClient]:
    with metastore.connect() as client:
        client.create_database(DATABASE)
        keys = {key.name: key.type for key in KEYS}
        table = objects.table(DATABASE, "t", {"v": "int"}, keys, transactional=False)
        created = client.create_table(table)
        client.add_partitions(created, PARTITIONS)
        yield client


def in_metastore(client: HmsClient, text: str) -> list[tuple[str, ...]]:
    found = client.rpc.get_partitions_by_filter(DATABASE, "t", text, -1)
    return sorted(tuple(partition.values) for partition in found)


def ours(text: str) -> list[tuple[str, ...]]:
    matches = by_filter(text, KEYS).matches
    return sorted(values for values in PARTITIONS if matches(values))


# One and the same corpus at each run, because the metastore is slow.
@seed(150)
@settings(max_examples=150, database=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_a_corpus_of_filters(client: HmsClient, data: st.DataObject) -> None:
    text = data.draw(CORPUS.filters()).text
    assert ours(text) == in_metastore(client, text)


@pytest.mark.parametrize("text", EDGES)
def test_what_both_understand(client: HmsClient, text: str) -> None:
    assert ours(text) == in_metastore(client, text)


@pytest.mark.parametrize("text", REFUSED)
def test_what_both_refuse(client: HmsClient, text: str) -> None:
    with pytest.raises(client.t.MetaException):
        in_metastore(client, text)
    with pytest.raises(InputError):
        by_filter(text, KEYS)


@pytest.mark.parametrize("text", ["s = 'x' and_so_on", "s = 'x')", "s = 'x';", "i = 1.0"])
def test_text_after_a_filter_is_ignored_there_and_refused_here(
    client: HmsClient, text: str
) -> None:
    assert in_metastore(client, text)
    with pytest.raises(FilterError):
        by_filter(text, KEYS)


def test_one_not_of_two_is_lost_there_and_refused_here(client: HmsClient) -> None:
    text = "(s) not in ('x') is not true"
    assert in_metastore(client, text) == ours("(s) not in ('x')")
    with pytest.raises(FilterError):
        by_filter(text, KEYS)


@pytest.mark.parametrize("word", ["is false", "is not true"])
@pytest.mark.parametrize(
    ("text", "there", "meant"),
    [
        ("5 < i", "i >= 5", "i <= 5"),
        ("5 <= i", "i > 5", "i < 5"),
        ("5 > i", "i <= 5", "i >= 5"),
        ("5 >= i", "i < 5", "i > 5"),
    ],
)
def test_the_side_of_a_constant_is_lost_there_and_refused_here(
    client: HmsClient, text: str, there: str, meant: str, word: str
) -> None:
    assert in_metastore(client, f"({text}) {word}") == ours(there) != ours(meant)
    with pytest.raises(FilterError):
        by_filter(f"({text}) {word}", KEYS)


@pytest.mark.mariadb
@pytest.mark.parametrize(
    ("text", "there", "here"),
    [
        ("s like 'a.b'", "01", "0"),
        ("s like 'a_b'", "01", "01"),
        ("s like 'a%' and day >= '2024-01-01'", "01", "0"),
        ("s = 'axb' and day >= '2024-01-01'", "", ""),
        ("t >= '2024-01-01 00:00:00'", "012", "02"),
    ],
)
def test_like_and_timestamps_compare_texts_on_mysql(
    mariadb_metastore: Instances, text: str, there: str, here: str
) -> None:
    moment = "2024-01-01 10:00:00"
    stored = [
        ("a.b", "2024-01-02", moment),
        ("axb", DEFAULT_PARTITION, DEFAULT_PARTITION),
        ("xab", "2024-01-02", moment),
    ]
    types = {"s": "string", "day": "date", "t": "timestamp"}
    with mariadb_metastore.connect() as client:
        client.create_database(DATABASE)
        table = objects.table(DATABASE, "t", {"v": "int"}, types, transactional=False)
        client.add_partitions(client.create_table(table), stored)
        theirs = in_metastore(client, text)
        client.rpc.drop_database(DATABASE, True, True)
    ours = narrowed(text, [PartitionKey(*key) for key in types.items()], stored)
    assert theirs == [stored[int(at)] for at in there]
    assert ours == [stored[int(at)] for at in here]


@pytest.mark.parametrize("text", ["day_of > 'abc'", "day_of like '2024%'", "t >= '2024-01-01'"])
def test_dates_against_other_texts_compare_as_texts_there_and_are_refused_here(
    client: HmsClient, text: str
) -> None:
    in_metastore(client, text)
    with pytest.raises(FilterNotSupportedError):
        by_filter(text, KEYS)


@pytest.fixture(scope="module")
def dated(client: HmsClient) -> HmsClient:
    for name, days in DATED.items():
        table = objects.table(DATABASE, name, {"v": "int"}, {"day": "date"}, transactional=False)
        client.add_partitions(client.create_table(table), [(day,) for day in days])
    return client


@pytest.mark.parametrize("table", DATED)
@pytest.mark.parametrize(
    "text",
    [
        *("day > '2024-01-05'", "day >= '2024-03-01'", "day <= '2023-12-31'", "day < '1999-01-01'"),
        *(
            "day between '2024-01-02' and '2024-01-09'",
            "day not between '2000-01-01' and '2024-01-06'",
        ),
    ],
)
def test_dates_of_a_range_are_the_metastores_or_refused(
    dated: HmsClient, table: str, text: str
) -> None:
    raw = dated.rpc.get_partitions_by_filter(DATABASE, table, text, -1)
    theirs = sorted(tuple(partition.values) for partition in raw)
    stored = [(day,) for day in DATED[table]]
    ours = narrowed(text, [PartitionKey("day", "date")], stored)
    assert ours == theirs or (ours is None and "2020-02-30" in DATED[table])


def names_by_values(client: HmsClient, values: list[str]) -> list[str]:
    return sorted(client.rpc.get_partition_names_ps(DATABASE, "t", values, -1))


@pytest.fixture(scope="module")
def cached() -> CachedObjects:
    rows = [partition_image(*values, name=TABLE) for values in PARTITIONS]
    created = CreateTable(table_image(TABLE, keys=NAMES))
    added = PutPartitions(TABLE, 1, tuple(rows), added=True)
    reader = MemoryShard(change(1, created), change(2, added)).reader()
    return CachedObjects(lambda _: reader)


def our_names(cached: CachedObjects, *values: str) -> list[str]:
    return list(ListPartitionNames(TABLE, PartitionSelection(prefix=values)).answer(cached).items)


@pytest.mark.parametrize("value", [*STRINGS, DEFAULT_PARTITION, ""])
def test_partitions_by_some_of_their_values(
    client: HmsClient, cached: CachedObjects, value: str
) -> None:
    whole = [value, "", "", "", ""]
    assert our_names(cached, *whole) == names_by_values(client, whole)
    partitions = client.rpc.get_partitions_ps(DATABASE, "t", whole, -1)
    matching = {partition_name(NAMES, one.values) for one in partitions}
    as_exact = set(our_names(cached, *whole))
    # There `_`, and `%` of what is escaped, stand for anything.
    assert matching >= as_exact
    if not set("_%:[]{}#'\"=/\\") & set(value):
        assert matching == as_exact


def test_a_short_list_means_beginnings_there_and_values_here(
    client: HmsClient, cached: CachedObjects
) -> None:
    ours = our_names(cached, "x")
    assert set(names_by_values(client, ["x"])) > set(ours)
    assert ours == names_by_values(client, ["x", "", "", "", ""])


def test_too_many_values_are_refused(client: HmsClient, cached: CachedObjects) -> None:
    with pytest.raises(client.t.MetaException):
        names_by_values(client, [""] * 6)
    with pytest.raises(InputError):
        our_names(cached, *[""] * 6)
