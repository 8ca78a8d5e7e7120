"""Figures of column statistics as a database stores them that rounds them."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from hypothesis import given
from hypothesis import strategies as st

from hive.events.decimal_places import FIGURES, TABLES, as_stored, rounded
from hive.events.decode import decode as decode_row
from hive.events.envelope import PLAIN
from hive.events.event_types import Event, UpdatePartitionStatistics, UpdateTableStatistics
from hive.events.message_types import Message
from hive.events.row import NotificationRow
from hive.reader.engines import unpooled_engine
from hive.thrift.binary import decode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from metatide.demo import messages

TABLE: dict[str, Any] = {"tableName": "T", "dbName": "D", "parameters": {}}
PARTITION = {"values": ["a"], "dbName": "D", "tableName": "T", "parameters": {}}
PLACES = {(TABLES[1], column): 4 for column in FIGURES.values()}
FIGURES_OF: dict[str, dict[str, dict[str, Any]]] = {
    "double": {
        "doubleStats": {"lowValue": -0.00005, "highValue": 2 / 3, "numNulls": 0, "numDVs": 1}
    },
    "string": {"stringStats": {"maxColLen": 9, "avgColLen": 1 / 3, "numNulls": 0, "numDVs": 1}},
    "bigint": {"longStats": {"lowValue": 1, "numNulls": 0, "numDVs": 1}},
}
ROUNDED = {"lowValue": 0.0, "highValue": 0.6667, "avgColLen": 0.3333}


def statistics(*, of_partition: bool) -> dict[str, Any]:
    described = {"isTblLevel": not of_partition, "dbName": "D", "tableName": "T"}
    columns = [
        {"colName": type_, "colType": type_, "statsData": figures}
        for type_, figures in FIGURES_OF.items()
    ]
    return {"statsDesc": described, "statsObj": columns}


def event(event_type: str, message: Message) -> Event:
    sealed = messages.seal(message, 7, PLAIN)
    return decode_row(NotificationRow(5, 7, event_type, None, "D", "T", sealed, PLAIN))


def figures_in(changed: Event) -> dict[str, dict[str, Any]]:
    assert isinstance(changed, UpdateTableStatistics | UpdatePartitionStatistics)
    decoded = [decode(COLUMN_STATISTICS_OBJ, column.data) for column in changed.columns]
    return {column["colType"]: column["statsData"] for column in decoded}


def test_figures_are_rounded_where_the_column_of_the_table_rounds_them() -> None:
    of_table = event(
        "UPDATE_TBL_COL_STAT_EVENT",
        messages.update_table_stats(TABLE, statistics(of_partition=False)),
    )
    of_partition = event(
        "UPDATE_PART_COL_STAT_EVENT",
        messages.update_partition_stats(TABLE, PARTITION, statistics(of_partition=True)),
    )
    assert as_stored(of_table, PLACES) == of_table
    assert as_stored(of_partition, {}) is of_partition
    assert figures_in(of_partition) == FIGURES_OF
    stored = as_stored(of_partition, PLACES)
    assert figures_in(stored) == {
        type_: {
            kind: {
                name: ROUNDED.get(name, value) if isinstance(value, float) else value
                for name, value in figures.items()
            }
            for kind, figures in data.items()
        }
        for type_, data in FIGURES_OF.items()
    }
    assert as_stored(stored, PLACES) == stored


@given(st.floats(-1e12, 1e12) | st.integers(-(10**7), 10**7).map(lambda whole: whole / 20_000))
def test_a_rounded_number_is_near_and_stays_as_it_is(number: float) -> None:
    kept = rounded(number, 4)
    assert abs(kept - number) <= 0.00005 + abs(number) * 2**-50
    assert rounded(kept, 4) == kept


@pytest.mark.parametrize("number", [float("inf"), float("-inf"), 1e300])
def test_a_number_without_decimal_places_is_kept(number: float) -> None:
    assert rounded(number, 4) == number


@pytest.mark.mariadb
def test_mariadb_rounds_alike(new_mariadb_database: Callable[[], str]) -> None:
    halves = [number / 20_000 for number in range(-400, 400)]
    numbers = [
        *halves,
        *(number * 12_345.678_9 for number in halves),
        1 / 3,
        2 / 3,
        1e15 / 3,
        1e40,
    ]
    engine = unpooled_engine(new_mariadb_database())
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE t (n INT, d DOUBLE(53,4))"))
        rows = [{"n": place, "d": number} for place, number in enumerate(numbers)]
        connection.execute(sa.text("INSERT INTO t VALUES (:n, :d)"), rows)
        stored = list(connection.scalars(sa.text("SELECT d FROM t ORDER BY n")))
    engine.dispose()
    assert [rounded(number, 4) for number in numbers] == stored
