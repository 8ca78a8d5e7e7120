"""Reads partitions: some of a table in order, or all of many tables page by page."""

from array import array
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cache
from itertools import groupby
from operator import itemgetter
from typing import Any

from sqlalchemy import Select, bindparam, null, select

from hive.names import DEFAULT_PARTITION, TableName
from hive.reader.details import Owner, has_id, read_details
from hive.reader.rows.details import Details
from hive.reader.rows.partitions import OWN_COLUMNS, StoredPartition, stored_partition
from hive.reader.rows.storage import Storages
from hive.reader.snapshot import DatabaseSnapshot, Row
from hive.reader.tables import Condition, storage_columns
from hive.schema import Version, metadata

PAGE = 2_000
"""The number of partitions that are in memory at a time, with all their details."""

_IDS = itemgetter(0, 1)


def read_named_partitions(
    snapshot: DatabaseSnapshot, table: TableName, table_id: int, names: Collection[str]
) -> list[StoredPartition]:
    """Those of a table's partitions that have one of these names, in order."""
    parameters = {"table": table_id, "names": list(names)}
    rows, storages = snapshot.rows(_named_statement(snapshot.version), parameters), Storages()
    stored: list[StoredPartition] = []
    for start in range(0, len(rows), PAGE):
        page = rows[start : start + PAGE]
        details = _details(snapshot, page, storages)
        stored += [stored_partition(table, row, details, storages) for row in page]
    return stored


def partition_names(snapshot: DatabaseSnapshot, table_id: int, *where: Condition) -> list[str]:
    """The names of partitions that fulfil conditions on PARTITIONS, in order."""
    partitions = snapshot.tables["PARTITIONS"].c
    statement = (
        select(partitions.PART_NAME)
        .where(partitions.TBL_ID == table_id, *where)
        .order_by(partitions.PART_NAME)
    )
    return [name for (name,) in snapshot.rows(statement)]


def partition_values(snapshot: DatabaseSnapshot, *values: str | None) -> tuple[Condition, ...]:
    """The conditions for partitions whose first values are these; None stands for any."""
    own, key_values = snapshot.tables["PARTITIONS"].c, snapshot.tables["PARTITION_KEY_VALS"].c
    return tuple(
        # Not EXISTS: that may become a join with all values of all tables.
        select(key_values.PART_KEY_VAL)
        .where(key_values.PART_ID == own.PART_ID, key_values.INTEGER_IDX == place)
        .scalar_subquery()
        .in_((value, "") if value == DEFAULT_PARTITION else (value,))
        for place, value in enumerate(values)
        if value is not None
    )


def empty_values(snapshot: DatabaseSnapshot, table_id: int) -> dict[str, set[int]]:
    """The places of a table's empty key values, by the names of their partitions. There an empty
    value has the name of a missing one.
    """
    partitions, key_values = (
        snapshot.tables[name] for name in ("PARTITIONS", "PARTITION_KEY_VALS")
    )
    own = partitions.c
    statement = (
        select(own.PART_NAME, key_values.c.INTEGER_IDX)
        .join_from(partitions, key_values, own.PART_ID == key_values.c.PART_ID)
        .where(
            own.TBL_ID == table_id,
            own.PART_NAME.contains(DEFAULT_PARTITION, autoescape=True),
            key_values.c.PART_KEY_VAL == "",
        )
    )
    places: dict[str, set[int]] = {}
    for name, place in snapshot.rows(statement):
        places.setdefault(name, set()).add(place)
    return places


def stream_partitions(
    snapshot: DatabaseSnapshot, tables: Mapping[int, TableName], *where: Condition
) -> Iterator[dict[int, list[StoredPartition]]]:
    """All partitions of these tables (names by ids) that fulfil conditions on PARTITIONS, in pages
    ordered by table id."""
    storages = Storages()
    ids = partition_ids(snapshot, tables, *where)
    statement = _page_statement(snapshot.version)
    for start in range(0, len(ids), PAGE):
        page = ids[start : start + PAGE].tolist()
        rows = sorted(snapshot.rows(statement, {"partitions": page}), key=_IDS)
        details = _details(snapshot, rows, storages)
        yield {
            table_id: [
                stored_partition(tables[table_id], row, details, storages) for row in of_table
            ]
            for table_id, of_table in groupby(rows, key=itemgetter(0))
        }


def partition_ids(
    snapshot: DatabaseSnapshot, tables: Collection[int], *where: Condition
) -> "array[int]":
    """The ids of partitions of these tables, in the order of the tables' ids."""
    partitions = snapshot.tables["PARTITIONS"].c
    statement = (
        select(partitions.PART_ID)
        .where(has_id(partitions.TBL_ID, "tables"), *where)
        .order_by(partitions.TBL_ID, partitions.PART_ID)
    )
    ids = array("q")
    for rows in snapshot.stream(statement, {"tables": list(tables)}):
        ids.extend(id_ for (id_,) in rows)
    return ids


def _details(snapshot: DatabaseSnapshot, rows: Sequence[Row], storages: Storages) -> Details:
    """All details of a page of rows, except lists of columns that were read before."""
    storage_ids, columns_ids, serde_ids = (
        {row[OWN_COLUMNS + place] for row in rows} - {None} for place in range(3)
    )
    unknown = storages.unknown_columns(columns_ids)
    details = read_details(
        snapshot,
        {
            Owner.PARTITION: [row[1] for row in rows],
            Owner.STORAGE: storage_ids,
            Owner.COLUMNS: unknown,
            Owner.SERDE: serde_ids,
        },
    )
    storages.add_columns(unknown, details)
    return details


@cache
def _statement(version: Version) -> Select[Any]:
    described = metadata(version)
    partitions, sds, serdes = (described.tables[n] for n in ("PARTITIONS", "SDS", "SERDES"))
    p = partitions.c
    own = (
        *(p.TBL_ID, p.PART_ID, p.PART_NAME, p.CREATE_TIME, p.LAST_ACCESS_TIME),
        p.get("WRITE_ID", null()),
    )
    assert len(own) == OWN_COLUMNS
    return (
        select(*own, *storage_columns(described))
        .outerjoin_from(partitions, sds, p.SD_ID == sds.c.SD_ID)
        .outerjoin(serdes, sds.c.SERDE_ID == serdes.c.SERDE_ID)
    )


@cache
def _named_statement(version: Version) -> Select[Any]:
    """A statement for all names, as for tables."""
    partitions = metadata(version).tables["PARTITIONS"].c
    statement = _statement(version).where(
        partitions.TBL_ID == bindparam("table"),
        partitions.PART_NAME.in_(bindparam("names", expanding=True)),
    )
    return statement.order_by(partitions.PART_NAME)


@cache
def _page_statement(version: Version) -> Select[Any]:
    ids = metadata(version).tables["PARTITIONS"].c.PART_ID
    return _statement(version).where(has_id(ids, "partitions"))
