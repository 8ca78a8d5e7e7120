"""Which patterns mean which tables, databases and lists."""

import pytest

from hive.errors import InputError
from hive.names import DatabaseName, TableName
from query_api.authorization.areas import Area, AreaPattern, area_of, areas_of
from query_api.targets import Target, TargetKind, of_catalog, of_database

EVERYTHING = Area("hive")
SALES = Area("hive", "sales")
LISTS = Area("hive", "sales", is_list=True)
ORDERS = Area("hive", "sales", "orders")
ALL = (EVERYTHING, SALES, LISTS, ORDERS)


@pytest.mark.parametrize(
    ("pattern", "covered", "touched"),
    [
        ("*", ALL, ALL),
        ("sales", (SALES, LISTS, ORDERS), ALL),
        ("SAL*", (SALES, LISTS, ORDERS), ALL),
        ("sales.*", (ORDERS,), (EVERYTHING, LISTS, ORDERS)),
        ("*.orders", (ORDERS,), (EVERYTHING, LISTS, ORDERS)),
        ("sales.ord", (), (EVERYTHING, LISTS)),
        ("sales.ord*", (ORDERS,), (EVERYTHING, LISTS, ORDERS)),
        ("hr", (), (EVERYTHING,)),
        ("hr.orders", (), (EVERYTHING,)),
    ],
)
def test_what_a_pattern_means(
    pattern: str, covered: tuple[Area, ...], touched: tuple[Area, ...]
) -> None:
    areas = AreaPattern(pattern)
    assert tuple(area for area in ALL if areas.covers(area)) == covered
    assert tuple(area for area in ALL if areas.touches(area)) == touched


@pytest.mark.parametrize("area", ALL)
def test_other_catalogs_are_never_covered_and_always_touched(area: Area) -> None:
    other = area._replace(catalog="spark")
    assert not AreaPattern("*").covers(other)
    assert not AreaPattern("sales").covers(other)
    assert AreaPattern("*").touches(other)
    assert AreaPattern("sales").touches(other)


@pytest.mark.parametrize("text", ["", "a.b.c", "a|b", "a b", "a,b", ".", "a.", ".b", "f()", "a#"])
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="isn't a pattern"):
        AreaPattern(text)


def test_each_kind_of_target_belongs_to_an_area() -> None:
    db, table = DatabaseName("hive", "sales"), TableName("hive", "sales", "orders")
    for kind in TargetKind:
        of_table = Target(kind, table)
        if of_table.is_of_table:
            assert area_of(of_table) == ORDERS
        elif kind in (TargetKind.NAMES, TargetKind.FUNCTIONS):
            assert area_of(of_database(kind, db)) == LISTS
        else:
            assert area_of(of_database(kind, db)) == SALES
    everything = of_catalog(TargetKind.DATABASES, "hive")
    assert areas_of([everything, Target(TargetKind.PARTITIONS, table)]) == {EVERYTHING, ORDERS}


def test_events_of_a_database_count_for_its_tables() -> None:
    database = of_database(TargetKind.DATABASE, DatabaseName("hive", "sales"))
    table = Target(TargetKind.TABLE, TableName("hive", "sales", "orders"))
    assert ORDERS.targets == (table, database)
    assert SALES.targets == (database,)
