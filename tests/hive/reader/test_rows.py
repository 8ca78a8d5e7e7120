"""Rows become the canonical bytes of the objects that they hold."""

from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.names import table_name
from hive.reader.rows import storage
from hive.reader.rows.constraints import stored_constraints
from hive.reader.rows.databases import stored_database
from hive.reader.rows.details import EMPTY, DetailKind, DetailRow, Details
from hive.reader.rows.flags import flag
from hive.reader.rows.grants import GrantKind, stored_grant, stored_member
from hive.reader.rows.partitions import stored_partition
from hive.reader.rows.statistics import stored_statistics
from hive.reader.rows.storage import StorageRow, Storages
from hive.reader.rows.tables import stored_table
from hive.thrift.binary import decode, encode
from hive.thrift.canonical import STORED_COLUMN, STORED_DESCRIPTOR
from hive.thrift.constraints import FOREIGN_KEY, UNIQUE_CONSTRAINT
from hive.thrift.splice import lacking_serde_details
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import DATABASE, PARTITION, TABLE
from hive.thrift.view import PartitionView

TABLE_NAME = table_name(None, "db", "t")
TEXT = st.text(st.characters(exclude_categories=["Cs"]) | st.sampled_from("aé€😀"), max_size=8)
OPTIONAL = st.none() | TEXT
PARAMETERS = st.dictionaries(TEXT, TEXT, max_size=4)
TIMES = st.none() | st.integers(0, 2**31 - 1)
IDS = 7, 8, 9
"""Of a descriptor, of its columns and of its serde."""


@st.composite
def storages(draw: st.DrawFn) -> tuple[tuple[Any, ...], list[DetailRow], dict[str, Any] | None]:
    """The fields of a row, the details, and the descriptor that they hold."""
    if draw(st.integers(0, 9)) == 0:
        return (None,) * 15, [], None
    id_, columns_id, serde_id = IDS
    texts = draw(st.lists(OPTIONAL, min_size=3, max_size=3))
    serde = draw(st.lists(OPTIONAL, min_size=5, max_size=5))
    compressed, below = draw(st.booleans()), draw(st.booleans())
    buckets = draw(st.integers(-1, 256))
    row = (id_, columns_id, serde_id, *texts, compressed, below, buckets, *serde, 0)
    columns = draw(st.lists(st.tuples(TEXT, TEXT, OPTIONAL), max_size=3))
    parameters, serde_parameters = draw(PARAMETERS), draw(PARAMETERS)
    bucketed, skewed = draw(st.lists(TEXT, max_size=2)), draw(st.lists(TEXT, max_size=1))
    sort = draw(st.lists(st.tuples(TEXT, st.integers(0, 1)), max_size=2))
    lists = draw(st.lists(st.lists(TEXT, min_size=1, max_size=2), max_size=2)) if skewed else []
    places = dict.fromkeys(map(tuple, lists), draw(TEXT))
    rows: list[DetailRow] = [
        *((DetailKind.COLUMN, columns_id, n, *column) for n, column in enumerate(columns)),
        *parameter_rows(DetailKind.STORAGE_PARAMETER, id_, parameters),
        *parameter_rows(DetailKind.SERDE_PARAMETER, serde_id, serde_parameters),
        *ordered(DetailKind.BUCKET_COLUMN, id_, bucketed),
        *(
            (DetailKind.SORT_COLUMN, id_, n, name, str(order), None)
            for n, (name, order) in enumerate(sort)
        ),
        *ordered(DetailKind.SKEWED_COLUMN, id_, skewed),
        *(
            (DetailKind.SKEWED_VALUE, id_, n, value, str(place), None)
            for place, list_ in enumerate(lists)
            for n, value in enumerate(list_)
        ),
        *(
            (DetailKind.SKEWED_LOCATION, id_, n, value, str(place), location)
            for place, (list_, location) in enumerate(places.items())
            for n, value in enumerate(list_)
        ),
    ]
    descriptor = {
        "cols": [{"name": n, "type": t, "comment": c} for n, t, c in columns],
        "location": texts[0],
        "inputFormat": texts[1],
        "outputFormat": texts[2],
        "compressed": compressed,
        "numBuckets": buckets,
        "serdeInfo": {
            "name": serde[0],
            "serializationLib": serde[1],
            "parameters": serde_parameters,
            "description": serde[2],
            "serializerClass": serde[3],
            "deserializerClass": serde[4],
        },
        "bucketCols": bucketed,
        "sortCols": [{"col": name, "order": order} for name, order in sort],
        "parameters": parameters,
        "skewedInfo": {
            "skewedColNames": skewed,
            "skewedColValues": lists,
            "skewedColValueLocationMaps": places,
        },
        "storedAsSubDirectories": below,
    }
    return row, draw(st.permutations(rows)), descriptor


def parameter_rows(kind: DetailKind, owner: int, parameters: dict[str, str]) -> list[DetailRow]:
    return [(kind, owner, 0, key, value, None) for key, value in parameters.items()]


def ordered(kind: DetailKind, owner: int, names: list[str]) -> list[DetailRow]:
    return [(kind, owner, n, name, None, None) for n, name in enumerate(names)]


def as_stored(descriptor: dict[str, Any]) -> bytes:
    """The canonical bytes of a partition's descriptor, in which names of columns keep their
    capitals."""
    cols = [encode(STORED_COLUMN, column) for column in descriptor["cols"]]
    return encode(STORED_DESCRIPTOR, {**descriptor, "cols": cols})


@given(
    storages(), st.lists(TEXT, max_size=3), PARAMETERS, TIMES, TIMES, st.none() | st.integers(-1, 9)
)
def test_a_partition_put_together_from_pieces_is_its_canonical_encoding(
    storage: tuple[tuple[Any, ...], list[DetailRow], dict[str, Any] | None],
    values: list[str],
    parameters: dict[str, str],
    created: int | None,
    accessed: int | None,
    write_id: int | None,
) -> None:
    row, rows, descriptor = storage
    details = Details(rows)
    details.add(ordered(DetailKind.PARTITION_VALUE, 5, values))
    details.add(parameter_rows(DetailKind.PARTITION_PARAMETER, 5, parameters))
    encoder = Storages()
    encoder.add_columns(encoder.unknown_columns({row[1]}), details)
    marked = False
    if descriptor is not None and descriptor["serdeInfo"] is not None:
        serde = descriptor["serdeInfo"]
        listed = {name: serde[name] for name in ("name", "serializationLib", "parameters")}
        marked = any(serde[name] is not None for name in serde.keys() - listed.keys())
        descriptor = {**descriptor, "serdeInfo": listed}
    partition = {
        "values": values,
        "dbName": "db",
        "tableName": "t",
        "createTime": created,
        "lastAccessTime": accessed,
        "sd": None if descriptor is None else as_stored(descriptor),
        "parameters": parameters,
        "writeId": write_id,
    }
    for _ in range(2):
        own = (1, 5, "k=v", created, accessed, write_id)
        stored = stored_partition(TABLE_NAME, (*own, *row), details, encoder)
        expected = encode(PARTITION, partition)
        assert stored.data == (lacking_serde_details(expected) if marked else expected)
        assert stored.values == tuple(values)
        assert stored.columns == (PartitionView(stored.data).columns or b"")


@given(storages(), PARAMETERS, st.sampled_from(["MANAGED_TABLE", "VIRTUAL_VIEW", None]))
def test_a_table_is_its_canonical_encoding(
    storage: tuple[tuple[Any, ...], list[DetailRow], dict[str, Any] | None],
    parameters: dict[str, str],
    type_: str | None,
) -> None:
    row, rows, descriptor = storage
    details = Details([*rows, *parameter_rows(DetailKind.TABLE_PARAMETER, 5, parameters)])
    details.add([(DetailKind.PARTITION_KEY, 5, 1, "B", "int", None)])
    details.add([(DetailKind.PARTITION_KEY, 5, 0, "a", "string", "the first")])
    own = (5, "hive", "db", "t", type_, "me", "ROLE", 1, 2, 3, "text", "all text", False, 4)
    stored = stored_table((*own, *row), details)
    table = {
        "tableName": "t",
        "dbName": "db",
        "owner": "me",
        "createTime": 1,
        "lastAccessTime": 2,
        "retention": 3,
        "sd": descriptor,
        "partitionKeys": [
            {"name": "a", "type": "string", "comment": "the first"},
            {"name": "b", "type": "int"},
        ],
        "parameters": parameters,
        "viewOriginalText": "text",
        "viewExpandedText": "all text",
        "tableType": type_,
        "ownerType": 2,
        "writeId": 4,
        "id": 5,
    }
    assert stored.data == encode(TABLE, table)
    assert stored.partition_keys == ("a", "b")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(True, True), (0, False), (1, True), (b"\1", True), (b"\0", False), ("Y", True), ("N", False)],
)
def test_each_database_has_booleans_of_its_own(value: object, expected: bool) -> None:
    assert flag(value) is expected


def test_a_null_parameter_is_left_out_as_the_metastore_does() -> None:
    details = Details([(DetailKind.TABLE_PARAMETER, 5, 0, "a", None, None)])
    assert details.parameters(DetailKind.TABLE_PARAMETER, 5) == {}


def statistics_row(type_: str, **figures: Any) -> tuple[Any, ...]:
    names = (
        *("long_low", "long_high", "double_low", "double_high", "decimal_low", "decimal_high"),
        *("nulls", "distinct", "bit_vector", "histogram", "length_avg", "length_max"),
        *("trues", "falses", "last_analyzed", "engine"),
    )
    assert figures.keys() <= set(names)
    return (5, "c", type_, *(figures.get(name) for name in names))


RANGE = {"numNulls": 1, "numDVs": 2}
COUNTS = {"nulls": 1, "distinct": 2}
LENGTHS = {"length_avg": 1.5, "length_max": 9}


@pytest.mark.parametrize(
    ("type_", "row", "data"),
    [
        (
            "BIGINT",
            {"long_low": -3, "long_high": 4},
            {"longStats": {"lowValue": -3, "highValue": 4}},
        ),
        ("int", {"bit_vector": b"HL"}, {"longStats": {}}),
        ("int", {"bit_vector": b"HLL"}, {"longStats": {"bitVectors": b"HLL"}}),
        ("int", {"histogram": b"kll"}, {"longStats": {"histogram": b"kll"}}),
        ("double", {"double_low": 0.5}, {"doubleStats": {"lowValue": 0.5}}),
        (
            "decimal(10,2)",
            {"decimal_low": "-1.28", "decimal_high": "1E+2"},
            {
                "decimalStats": {
                    "lowValue": {"unscaled": b"\x80", "scale": 2},
                    "highValue": {"unscaled": b"\x01", "scale": -2},
                }
            },
        ),
        ("date", {"long_low": 7}, {"dateStats": {"lowValue": {"daysSinceEpoch": 7}}}),
        ("timestamp", {"long_low": 7}, {"timestampStats": {"lowValue": {"secondsSinceEpoch": 7}}}),
    ],
)
def test_statistics_of_types_with_an_order(
    type_: str, row: dict[str, Any], data: dict[str, Any]
) -> None:
    stored = stored_statistics(statistics_row(type_, **COUNTS, **row))
    expected = {kind: {**RANGE, **figures} for kind, figures in data.items()}
    assert decode(COLUMN_STATISTICS_OBJ, stored.data)["statsData"] == expected


@pytest.mark.parametrize(
    ("type_", "row", "data"),
    [
        ("boolean", {"trues": 3, "falses": 4}, {"booleanStats": {"numTrues": 3, "numFalses": 4}}),
        ("varchar(9)", LENGTHS, {"stringStats": {"maxColLen": 9, "avgColLen": 1.5, "numDVs": 2}}),
        ("binary", LENGTHS, {"binaryStats": {"maxColLen": 9, "avgColLen": 1.5}}),
    ],
)
def test_statistics_of_other_types(type_: str, row: dict[str, Any], data: dict[str, Any]) -> None:
    stored = stored_statistics(statistics_row(type_, **COUNTS, **row))
    expected = {kind: {"numNulls": 1, **figures} for kind, figures in data.items()}
    assert decode(COLUMN_STATISTICS_OBJ, stored.data)["statsData"] == expected


@pytest.mark.parametrize(
    ("type_", "row"),
    [
        ("array<int>", COUNTS),
        ("timestamp with local time zone", COUNTS),
        ("int", {"nulls": 1, "trues": 1, "falses": 1}),
        ("string", COUNTS),
        ("binary", COUNTS),
        ("boolean", {"nulls": 1, "trues": 1}),
    ],
)
def test_nothing_is_told_where_the_metastore_can_not(type_: str, row: dict[str, Any]) -> None:
    stored = stored_statistics(statistics_row(type_, **row))
    assert decode(COLUMN_STATISTICS_OBJ, stored.data) == {"colName": "c", "colType": type_}


@given(st.decimals(allow_nan=False, allow_infinity=False))
def test_decimals_keep_their_value_and_scale(value: Decimal) -> None:
    stored = stored_statistics(statistics_row("decimal(38,9)", **COUNTS, decimal_low=str(value)))
    low = decode(COLUMN_STATISTICS_OBJ, stored.data)["statsData"]["decimalStats"]["lowValue"]
    unscaled = int.from_bytes(low["unscaled"], signed=True)
    assert unscaled == int(value.scaleb(low["scale"]).to_integral_value()) or abs(unscaled) > 10**27
    assert low["scale"] == -int(value.as_tuple().exponent)


def test_the_columns_of_a_constraint_go_together_in_order() -> None:
    def row(name: str, position: int, column: str) -> tuple[Any, ...]:
        own = (5, 2, name, position, "hive", "db", "t", column, 5, None)
        return (*own, None, None, None, None, None, None)

    rows = [row("u", 2, "b"), row("v", 1, "c"), row("u", 1, "a")]
    first, second = stored_constraints(rows)
    decoded = [decode(UNIQUE_CONSTRAINT, column) for column in first.columns]
    assert [column["column_name"] for column in decoded] == ["a", "b"]
    assert [column["key_seq"] for column in decoded] == [1, 2]
    assert decoded[0]["enable_cstr"]
    assert decoded[0]["rely_cstr"]
    assert not decoded[0]["validate_cstr"]
    assert second.name == "v"


def test_a_foreign_key_names_both_sides() -> None:
    row = (5, 1, "fk", 1, "hive", "db", "child", "a", 1, None, "up", "parent", "id", "pk", 0, 3)
    (stored,) = stored_constraints([row])
    assert decode(FOREIGN_KEY, stored.columns[0]) == {
        "pktable_db": "up",
        "pktable_name": "parent",
        "pkcolumn_name": "id",
        "fktable_db": "db",
        "fktable_name": "child",
        "fkcolumn_name": "a",
        "key_seq": 1,
        "update_rule": 0,
        "delete_rule": 3,
        "fk_name": "fk",
        "pk_name": "pk",
        "enable_cstr": False,
        "validate_cstr": False,
        "rely_cstr": True,
        "catName": "hive",
    }


def test_a_foreign_key_of_a_parent_without_primary_key_has_no_columns() -> None:
    row = (5, 1, "fk", 1, "hive", "db", "child", "a", 1, None, "up", "parent", "id", None, 0, 3)
    (stored,) = stored_constraints([row])
    assert (stored.name, stored.columns) == ("fk", ())


@pytest.mark.parametrize("type_", ["NATIVE", "REMOTE", None])
def test_only_a_remote_database_has_a_connector(type_: str | None) -> None:
    row = (1, "hive", "DB", None, "file:/db", None, None, None, " ", type_, "conn", "there")
    stored = stored_database(row, Details())
    fields = decode(DATABASE, stored.data)
    assert stored.remote is (type_ == "REMOTE")
    assert ("connector_name" in fields) is stored.remote
    assert "managedLocationUri" not in fields
    assert fields["name"] == "db"


@pytest.mark.parametrize("kind", ["", "GUEST", None])
def test_rights_of_unknown_kinds_of_principals_are_left_to_the_metastore(kind: str | None) -> None:
    own = ("alice", "USER", "SELECT", 7, "admin", "ROLE", 0, None, "hive", "db", "t", None)
    assert stored_grant(GrantKind.TABLE, own) is not None
    assert stored_grant(GrantKind.TABLE, (own[0], kind, *own[2:])) is None
    assert stored_grant(GrantKind.TABLE, (*own[:5], kind, *own[6:])) is None
    member = ("analysts", "alice", "USER", 0, 7, "admin", "ROLE")
    assert stored_member(member) is not None
    assert stored_member((*member[:2], kind, *member[3:])) is None
    assert (stored_member((*member[:6], kind)) is None) == (kind is not None)


def test_an_object_may_lack_a_serde_and_a_list_of_skewed_values_its_values() -> None:
    row = StorageRow(*[None] * len(StorageRow._fields))
    rows = [(1, 7, 0, "a", 3, "x"), (1, 7, EMPTY, None, 4, "y")]
    details = cast("Details", SimpleNamespace(of=lambda *_: rows))
    assert storage._serde(row, details) is None
    assert storage._lists(details, DetailKind.SKEWED_VALUE, 7) == {3: (["a"], "x"), 4: ([], "y")}
