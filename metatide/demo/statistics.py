"""Column statistics of tables and partitions, always for some of the columns."""

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

from hive.schema import Version
from metatide.demo import notifications
from metatide.demo.actor import Actor
from metatide.demo.changes import Change, Delete, Insert, Update
from metatide.demo.objects import Field, Partition, Table
from metatide.demo.rows import replace_parameters, set_write_id, some
from metatide.demo.structs import CATALOG, Struct, stored_table

Figures = dict[str, Any]
FIGURES = {
    "longStats": {
        "lowValue": "LONG_LOW_VALUE",
        "highValue": "LONG_HIGH_VALUE",
        "numNulls": "NUM_NULLS",
        "numDVs": "NUM_DISTINCTS",
    },
    "doubleStats": {
        "lowValue": "DOUBLE_LOW_VALUE",
        "highValue": "DOUBLE_HIGH_VALUE",
        "numNulls": "NUM_NULLS",
        "numDVs": "NUM_DISTINCTS",
    },
    "stringStats": {
        "maxColLen": "MAX_COL_LEN",
        "avgColLen": "AVG_COL_LEN",
        "numNulls": "NUM_NULLS",
        "numDVs": "NUM_DISTINCTS",
    },
    "booleanStats": {
        "numTrues": "NUM_TRUES",
        "numFalses": "NUM_FALSES",
        "numNulls": "NUM_NULLS",
    },
}
"""The struct of each kind of statistics, and the column of the table that holds each figure."""

COLUMNS = sorted({column for figures in FIGURES.values() for column in figures.values()})


def _long(rng: Random) -> Figures:
    low = rng.randrange(1000)
    return {"lowValue": low, "highValue": low + rng.randrange(10**9), **_counts(rng)}


def _double(rng: Random) -> Figures:
    low = rng.randrange(1000) / 4
    return {"lowValue": low, "highValue": low + rng.randrange(10**6) / 4, **_counts(rng)}


def _string(rng: Random) -> Figures:
    longest = rng.randrange(1, 400)
    return {"maxColLen": longest, "avgColLen": longest / 2, **_counts(rng)}


def _boolean(rng: Random) -> Figures:
    return {name: rng.randrange(10_000) for name in ("numTrues", "numFalses", "numNulls")}


def _counts(rng: Random) -> Figures:
    return {"numNulls": rng.randrange(100), "numDVs": rng.randrange(1, 10_000)}


MAKERS: Mapping[str, tuple[str, Callable[[Random], Figures]]] = {
    "bigint": ("longStats", _long),
    "int": ("longStats", _long),
    "double": ("doubleStats", _double),
    "string": ("stringStats", _string),
    "varchar(64)": ("stringStats", _string),
    "boolean": ("booleanStats", _boolean),
}


def update_table(actor: Actor, table: Table, write_id: int | None) -> None:
    """ANALYZE TABLE … FOR COLUMNS, for up to three columns of the table."""
    columns = _some_columns(actor.rng, table)
    described, changes = _update(actor, table, table, columns)
    before = stored_table(table)
    parameters = _accurate(table.parameters, columns)
    changes += replace_parameters("TABLE_PARAMS", "TBL_ID", table.id, table.parameters, parameters)
    table.parameters = parameters
    if write_id is None:
        shown = stored_table(table)
    else:
        table.write_id = write_id
        changes += set_write_id(table)
        # The message shows the table with its new write id and its old parameters.
        shown = before | {"writeId": write_id, "isStatsCompliant": False}
    event = notifications.update_table_statistics(table, described, shown, write_id)
    actor.write(changes, event)


def update_partitions(actor: Actor, table: Table, count: int, write_id: int | None) -> None:
    """Updates the statistics of some of the table's partitions: one event for each, with
    consecutive ids.
    """
    changes, events = [], []
    columns = _some_columns(actor.rng, table)
    for name in table.partition_names.sample(actor.rng, count):
        partition = table.partitions[name]
        described, changed = _update(actor, table, partition, columns)
        changes += changed
        parameters = _accurate(partition.parameters, columns)
        changes += replace_parameters(
            "PARTITION_PARAMS", "PART_ID", partition.id, partition.parameters, parameters
        )
        partition.parameters = parameters
        if write_id is not None:
            partition.write_id = write_id
            row = {"PART_ID": partition.id, "WRITE_ID": write_id}
            changes.append(Update("PARTITIONS", ("PART_ID",), [row]))
        events.append(
            notifications.update_partition_statistics(table, partition, described, write_id)
        )
    actor.write(changes, *events)


def delete_from_table(actor: Actor, table: Table) -> None:
    """Deletes the statistics of one column of the table, or of all."""
    if table.statistics:
        column = _one_or_all(actor.rng, table.statistics)
        event = notifications.delete_table_statistics(table, column)
        actor.write(_forget(table, column), event)


def delete_from_partition(actor: Actor, table: Table) -> None:
    """Deletes the statistics of one column of a partition, or of all."""
    names = table.partition_names.sample(actor.rng, 20)
    described = [table.partitions[name] for name in names if table.partitions[name].statistics]
    if described:
        partition = described[0]
        column = _one_or_all(actor.rng, partition.statistics)
        event = notifications.delete_partition_statistics(table, partition, column)
        actor.write(_forget(partition, column), event)


def forget_column(of: Table | Partition, column: str) -> list[Change]:
    """Deletes the statistics of a column whose type changed."""
    return _forget(of, column) if column in of.statistics else []


def rename_statistics(table: Table) -> list[Change]:
    """Renames objects in the rows of statistics, which repeat the names up to Hive 4.0."""
    names = {"DB_NAME": table.database.name, "TABLE_NAME": table.name}
    partitions = [
        {"PART_ID": partition.id, **names}
        for partition in table.partitions.values()
        if partition.statistics
    ]
    return some(
        Update("TAB_COL_STATS", ("TBL_ID",), [{"TBL_ID": table.id, **names}]),
        Update("PART_COL_STATS", ("PART_ID",), partitions),
    )


def _some_columns(rng: Random, table: Table) -> list[Field]:
    columns = [column for column in table.storage.columns.fields if column.type in MAKERS]
    return rng.sample(columns, min(len(columns), rng.randint(1, 3)))


def _update(
    actor: Actor, table: Table, of: Table | Partition, columns: Sequence[Field]
) -> tuple[Struct, list[Change]]:
    rows_of, id_name = _place(of)
    structs: list[Struct] = []
    now = actor.now()
    new, other = [], []
    for column in columns:
        kind, make = MAKERS[column.type]
        figures = make(actor.rng)
        structs.append(
            {"colName": column.name, "colType": column.type, "statsData": {kind: figures}}
        )
        id_ = of.statistics.get(column.name)
        row: dict[str, Any] = dict.fromkeys(COLUMNS)
        row |= {FIGURES[kind][name]: value for name, value in figures.items()}
        row |= {"COLUMN_TYPE": column.type, "LAST_ANALYZED": now}
        if id_ is None:
            id_ = of.statistics[column.name] = actor.ids.take(rows_of)
            row |= {id_name: of.id, "COLUMN_NAME": column.name, "ENGINE": "hive"}
            if actor.schema < Version.V4_1:
                row |= _names(table, of)
            new.append({"CS_ID": id_, **row})
        else:
            other.append({"CS_ID": id_, **row})
    changes = some(Insert(rows_of, new), Update(rows_of, ("CS_ID",), other))
    return _describe(table, of, structs, now), changes


def _describe(table: Table, of: Table | Partition, columns: list[Struct], now: int) -> Struct:
    described: Struct = {
        "isTblLevel": isinstance(of, Table),
        "dbName": table.database.name,
        "tableName": table.name,
        "lastAnalyzed": now,
        "catName": CATALOG,
    }
    if isinstance(of, Partition):
        described["partName"] = of.name
    return {"statsDesc": described, "statsObj": columns, "engine": "hive"}


def _names(table: Table, of: Table | Partition) -> dict[str, str]:
    names = {"CAT_NAME": CATALOG, "DB_NAME": table.database.name, "TABLE_NAME": table.name}
    return names | ({"PARTITION_NAME": of.name} if isinstance(of, Partition) else {})


def _accurate(parameters: Mapping[str, str], columns: Sequence[Field]) -> dict[str, str]:
    accurate = json.loads(parameters.get("COLUMN_STATS_ACCURATE", "{}"))
    accurate.setdefault("COLUMN_STATS", {}).update({column.name: "true" for column in columns})
    return {**parameters, "COLUMN_STATS_ACCURATE": json.dumps(accurate, separators=(",", ":"))}


def _one_or_all(rng: Random, statistics: Mapping[str, int]) -> str | None:
    return rng.choice(list(statistics)) if rng.random() < 0.7 else None


def _forget(of: Table | Partition, column: str | None) -> list[Change]:
    columns = [column] if column else list(of.statistics)
    rows_of, _ = _place(of)
    return [Delete(rows_of, [{"CS_ID": of.statistics.pop(name)} for name in columns])]


def _place(of: Table | Partition) -> tuple[str, str]:
    return ("TAB_COL_STATS", "TBL_ID") if isinstance(of, Table) else ("PART_COL_STATS", "PART_ID")
