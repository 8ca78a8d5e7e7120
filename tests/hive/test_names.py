import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import InputError, NameFormatError
from hive.names import (
    DEFAULT_CATALOG,
    DEFAULT_PARTITION,
    DatabaseName,
    TableName,
    default_catalog,
    escape_path_part,
    parse_table_name,
    partition_items,
    partition_name,
    partition_names,
    partition_values,
    set_default_catalog,
    stored_partition_name,
    table_name,
    unescape_path_part,
    values_by_name,
)

IDENTIFIERS = st.from_regex(r"[a-z0-9_]+", fullmatch=True)


def test_case_folds_and_no_catalog_is_hives_own() -> None:
    assert table_name(None, "Sales", "ORDERS") == TableName("hive", "sales", "orders")
    assert table_name("Lake", "d", "t").catalog == "lake"


def test_a_table_leads_to_its_database_and_back() -> None:
    table = table_name(None, "Sales", "Orders")
    assert table.database == DatabaseName("hive", "sales")
    assert str(table.database) == "hive.sales"
    assert table.database.table("orders") == table


def test_a_name_prints_with_its_catalog_and_without() -> None:
    name = table_name(None, "d", "t")
    assert str(name) == "hive.d.t"
    assert name.in_catalog == "d.t"


@given(IDENTIFIERS, IDENTIFIERS, IDENTIFIERS)
def test_table_names_round_trip(catalog: str, db: str, table: str) -> None:
    name = table_name(catalog, db, table)
    assert parse_table_name(str(name)) == name
    assert parse_table_name(name.in_catalog) == table_name(None, db, table)


@pytest.mark.parametrize("text", ["", "t", "d.", ".t", "a.b.c.d", "a..t"])
def test_what_names_no_table_is_refused(text: str) -> None:
    with pytest.raises(NameFormatError, match=r"write db\.table"):
        parse_table_name(text)


@pytest.mark.parametrize("char", [*map(chr, range(0x20)), *"\x7f\"#%'*/:=?\\{[]^"])
def test_what_hive_escapes(char: str) -> None:
    assert escape_path_part(char) == f"%{ord(char):02X}"


@pytest.mark.parametrize("char", [*" }!$&()+,-.;<>@`|~éß漢"])
def test_what_hive_leaves_as_it_is(char: str) -> None:
    assert escape_path_part(char) == char


@given(st.text(min_size=1))
def test_path_parts_round_trip(part: str) -> None:
    assert unescape_path_part(escape_path_part(part)) == part


@pytest.mark.parametrize("part", ["%", "%4", "%zz", "100%"])
def test_a_percent_sign_that_escapes_nothing_stands(part: str) -> None:
    assert unescape_path_part(part) == part


def test_a_partition_name() -> None:
    assert partition_name(["DS", "hr"], ["2024-01-01", "a/b"]) == "ds=2024-01-01/hr=a%2Fb"
    assert partition_values("ds=2024-01-01/hr=a%2Fb") == ("2024-01-01", "a/b")


@pytest.mark.parametrize(
    ("name", "stored"),
    [
        ("DS=Some Day/hr=1", "ds=Some Day/hr=1"),
        ("hr=10:00/ds=x%3dy%2F", "hr=10%3A00/ds=x%3Dy%2F"),
        ("ds=x=y", "ds=x%3Dy"),
    ],
)
def test_a_name_is_spelled_as_it_is_stored(name: str, stored: str) -> None:
    assert stored_partition_name(name) == stored == stored_partition_name(stored)


@given(
    st.from_regex(
        r"[a-zA-Z _]{1,2}=[a-zA-Z0-9 =:%_-]{1,4}(/[a-z_]=[a-z0-9:é]{1,2})?", fullmatch=True
    )
)
def test_the_stored_spelling_is_that_of_the_keys_and_values(name: str) -> None:
    keys, values = zip(*partition_items(name), strict=True)
    assert stored_partition_name(name) == partition_name(keys, values)


@pytest.mark.parametrize("name", ["", "k", "k=", "=v", "k=v/", "k=v//k2=v"])
def test_what_names_no_partition_has_no_stored_spelling(name: str) -> None:
    with pytest.raises(NameFormatError, match="bad name"):
        stored_partition_name(name)


@pytest.mark.parametrize("value", [None, ""])
def test_no_value_is_the_default_partition(value: str | None) -> None:
    assert partition_name(["k"], [value]) == f"k={DEFAULT_PARTITION}"
    assert partition_values(f"k={DEFAULT_PARTITION}") == (DEFAULT_PARTITION,)


@given(st.lists(st.tuples(IDENTIFIERS, st.text(min_size=1)), min_size=1))
def test_partition_names_round_trip(items: list[tuple[str, str]]) -> None:
    name = partition_name([key for key, _ in items], [value for _, value in items])
    assert partition_items(name) == tuple(items)


@pytest.mark.parametrize("name", ["", "k", "k=", "=v", "k=v/", "k=v//k2=v"])
def test_what_names_no_partition_is_refused(name: str) -> None:
    with pytest.raises(NameFormatError, match="bad name"):
        partition_values(name)


def test_keys_and_values_must_be_as_many() -> None:
    with pytest.raises(NameFormatError, match="one value for each of the keys ds, hr"):
        partition_name(["ds", "hr"], ["1"])
    with pytest.raises(NameFormatError, match="one value for each of the keys ds, hr"):
        partition_names(["ds", "hr"], [["1", "2"], ["1"]])


@given(st.lists(st.lists(st.text() | IDENTIFIERS, min_size=2, max_size=2), max_size=4))
def test_many_names_are_those_of_each(many: list[list[str]]) -> None:
    keys = ["ds", "100%"]
    assert partition_names(keys, many) == [partition_name(keys, values) for values in many]


@pytest.mark.parametrize("text", ["", " spark", "a.b", "@hive#"])
def test_a_default_catalog_is_a_name(text: str) -> None:
    with pytest.raises(InputError, match="default catalog"):
        set_default_catalog(text)
    assert default_catalog() == "hive"


def test_names_without_a_catalog_are_of_the_default_one() -> None:
    set_default_catalog("Spark")
    try:
        assert str(parse_table_name("sales.orders")) == "spark.sales.orders"
        assert str(parse_table_name("hive.sales.orders")) == "hive.sales.orders"
        assert parse_table_name("sales.orders").in_default_catalog
        assert not parse_table_name("hive.sales.orders").in_default_catalog
    finally:
        set_default_catalog(DEFAULT_CATALOG)


@given(
    st.lists(st.sampled_from(["ds", "Hr", "a b", "k%"]), max_size=2, unique=True),
    st.lists(
        st.text()
        | st.from_regex(
            r"(ds|hr|a b)=[a-z0-9 =%]{0,3}(/(ds|hr|k)=[a-z0-9 =]{0,3})?", fullmatch=True
        ),
        max_size=4,
    ),
    st.lists(st.lists(st.text(min_size=1) | IDENTIFIERS, min_size=2, max_size=2), max_size=3),
)
def test_values_by_name_are_those_that_give_the_names_again(
    keys: list[str], names: list[str], many: list[list[str]]
) -> None:
    names += [partition_name(keys, values[: len(keys)]) for values in many]
    expected = {}
    for name in names:
        try:
            values = partition_values(name)
        except NameFormatError:
            continue
        if len(values) == len(keys) and partition_name(keys, values) == name:
            expected[name] = values
    assert values_by_name(keys, names) == expected
