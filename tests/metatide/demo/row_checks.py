"""Rows that a run leaves behind, compared with what its events tell."""

from typing import Any

from sqlalchemy import Row

from hive.names import partition_name
from hive.schema import Version
from metatide.demo.statistics import FIGURES
from metatide.demo.store import Store
from tests.metatide.demo import workload_runs
from tests.metatide.demo.event_model import EventModel, Name, Struct
from tests.metatide.demo.row_model import RowModel

KINDS = {"1": "booleanStats", "2": "longStats", "3": "doubleStats", "4": "stringStats"}
FIELDS = {
    "booleanStats": ("numTrues", "numFalses", "numNulls"),
    "longStats": ("lowValue", "highValue", "numNulls", "numDVs"),
    "doubleStats": ("lowValue", "highValue", "numNulls", "numDVs"),
    "stringStats": ("maxColLen", "avgColLen", "numNulls", "numDVs"),
}


def check(store: Store) -> None:
    events, stored = EventModel(workload_runs.log(store)), RowModel(store)
    check_databases(events, stored)
    check_tables(events, stored)
    check_partitions(events, stored)
    check_statistics(events, stored, store.schema)
    check_constraints(events, stored)
    check_transactions(events, stored)


def check_databases(events: EventModel, stored: RowModel) -> None:
    assert stored.databases.keys() == events.databases.keys()
    for name, database in events.databases.items():
        row = stored.databases[name]
        assert row.DB_LOCATION_URI == database["3"]
        assert row.DB_MANAGED_LOCATION_URI == database["10"]
        assert row.CREATE_TIME == database["9"]
        assert stored.database_parameters[row.DB_ID] == database["4"]
    assert stored.functions.keys() == events.functions.keys()
    for function, row in stored.functions.items():
        assert row.CLASS_NAME == events.functions[function]["3"]
        assert row.CREATE_TIME == events.functions[function]["6"]


def check_tables(told: EventModel, stored: RowModel) -> None:
    assert stored.tables.keys() == told.tables.keys()
    for name, table in told.tables.items():
        assert stored.tables[name] == {id_: table.struct[id_] for id_ in stored.tables[name]}


def check_partitions(events: EventModel, stored: RowModel) -> None:
    for name, table in events.tables.items():
        rows = stored.partitions[name]
        assert rows.keys() == table.partitions.keys()
        keys = [key["1"] for key in table.struct["8"]]
        for values, row in rows.items():
            struct = table.partitions[values]
            for id_ in ("1", "4", "7", "10"):
                assert row[id_] == struct[id_]
            assert row["name"] == partition_name(keys, values)
            # CASCADE changes the columns of partitions without a word.
            assert row["6"].pop("1") in table.columns
            del struct["6"]["1"]
            assert row["6"] == struct["6"]


def check_statistics(events: EventModel, stored: RowModel, schema: Version) -> None:
    of_tables: dict[tuple[Any, ...], Struct] = {
        (name, column): figures
        for name, table in events.tables.items()
        for column, figures in table.statistics.items()
    }
    rows = {(stored.names[r.TBL_ID], r.COLUMN_NAME): r for r in stored.table_statistics}
    assert rows.keys() == of_tables.keys()
    for key, figures in of_tables.items():
        check_figures(rows[key], figures)
    of_partitions = {
        ((name, values), column): figures
        for name, table in events.tables.items()
        for values, columns in table.partition_statistics.items()
        for column, figures in columns.items()
        if column not in table.retyped
    }
    partition_rows = {
        (stored.partition_names[r.PART_ID], r.COLUMN_NAME): r
        for r in stored.partition_statistics
        if r.COLUMN_NAME not in events.tables[stored.partition_names[r.PART_ID][0]].retyped
    }
    assert partition_rows.keys() == of_partitions.keys()
    for partition, row in partition_rows.items():
        check_figures(row, of_partitions[partition])
    if schema < Version.V4_1:
        check_repeated_names(stored)


def check_figures(row: Row[Any], figures: Struct) -> None:
    ((id_, data),) = figures["3"].items()
    kind = KINDS[id_]
    assert row.COLUMN_TYPE == figures["2"]
    assert row.LAST_ANALYZED == figures["analyzed"]
    assert row.ENGINE == "hive"
    columns = [FIGURES[kind][name] for name in FIELDS[kind]]
    assert [getattr(row, column) for column in columns] == list(data.values())


def check_repeated_names(stored: RowModel) -> None:
    for row in stored.table_statistics:
        assert (row.DB_NAME, row.TABLE_NAME) == stored.names[row.TBL_ID]
    for row in stored.partition_statistics:
        assert (row.DB_NAME, row.TABLE_NAME) == stored.partition_names[row.PART_ID][0]
        assert row.PARTITION_NAME == stored.part_name[row.PART_ID]


def check_constraints(events: EventModel, stored: RowModel) -> None:
    expected = {
        (table.name, name)
        for table in events.tables.values()
        for name, parent in table.constraints.items()
        if parent is None or not parent.dropped
    }
    constraints = {
        (stored.names[row.CHILD_TBL_ID or row.PARENT_TBL_ID], row.CONSTRAINT_NAME)
        for row in stored.constraints
    }
    assert constraints == expected


def check_transactions(events: EventModel, stored: RowModel) -> None:
    assert stored.transactions.keys() == events.transactions.keys()
    for txn, state in stored.transactions.items():
        # A commit that lost against another is aborted without a word.
        assert state == events.transactions[txn] or (state, events.transactions[txn]) == ("a", "o")
    with_ids: dict[Name, dict[int, int]] = {n: ids for n, ids in events.write_ids.items() if ids}
    assert stored.write_ids == with_ids
    assert stored.next_write_ids == {name: len(ids) + 1 for name, ids in with_ids.items()}
