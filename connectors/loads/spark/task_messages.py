"""What the tasks of a prewarm are told to do, and what they say of it."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlalchemy import Engine, func, select

from connectors.kafka_clients import KafkaTopic
from connectors.loads.plan import BATCH_PARTITIONS_MAX, BATCH_SCOPES_MAX, Planned
from hive.names import TableName, table_name
from hive.reader.details import has_id
from hive.reader.snapshot import DatabaseSnapshot
from hive.schema import Version
from state.records import Scope

Loads = Mapping[Scope, str]
"""The ids of loads that have begun."""


class Counts(NamedTuple):
    """What tasks call when they have brought so many more."""

    scopes: Callable[[int], None]
    partitions: Callable[[int], None]
    bytes: Callable[[int], None]


class Reach(NamedTuple):
    """What every task needs: where it reads and where it writes."""

    make_engine: Callable[[str], Engine]
    url: str
    version: Version
    topic: KafkaTopic
    epoch: int
    counts: Counts
    exported: str | None = None
    """The snapshot that all share; none where the database can't."""


class WholeLoads(NamedTuple):
    """Loads that one task reads from their beginning to their end."""

    loads: tuple[tuple[Scope, str], ...]
    partitions: int

    @property
    def what(self) -> str:
        """For a person."""
        (first, _), *others = self.loads
        also = f" and {len(others)} others" if others else ""
        return f"load of {first.kind.value} {first.name}{also}"


class LoadPart(NamedTuple):
    """A stretch of one table's partitions; the first place has all the rest of the table too."""

    scope: Scope
    load: str
    table: int
    first: int
    last: int
    place: int
    places: int
    position: int
    partitions: int

    @property
    def what(self) -> str:
        """For a person."""
        stretch = f"PART_ID {self.first} to {self.last}"
        return f"load of table {self.scope.name}, {stretch}, after event {self.position}"


class TaskResult(NamedTuple):
    """What the driver hears of a task."""

    work: WholeLoads | LoadPart
    position: int
    chunks: int
    ended: tuple[Scope, ...]
    fault: str | None = None


class FinishedLoad(NamedTuple):
    """A load in parts that all came."""

    scope: Scope
    load: str
    lo: int
    hi: int
    chunks: tuple[int, ...]
    """How many each place has."""


def share_out(
    snapshot: DatabaseSnapshot, planned: Sequence[Planned], loads: Loads
) -> Iterator[WholeLoads | LoadPart]:
    """Tasks that are about as large: many small tables, or a stretch of a large one."""
    large = [one for one in planned if one.partitions > BATCH_PARTITIONS_MAX]
    stretches = _stretches(snapshot, [one.scope.name for one in large])
    small = [one for one in planned if one.scope.name not in stretches]
    yield from _batches(small, loads)
    for one in large:
        found = stretches.get(one.scope.name, [])
        for place, (table, first, last, partitions) in enumerate(found):
            yield LoadPart(
                *(one.scope, loads[one.scope], table, first, last),
                *(place, len(found), snapshot.position, partitions),
            )


def _batches(planned: Iterable[Planned], loads: Loads) -> Iterator[WholeLoads]:
    batch: list[tuple[Scope, str]] = []
    partitions = 0
    for one in planned:
        full = len(batch) == BATCH_SCOPES_MAX or partitions + one.partitions > BATCH_PARTITIONS_MAX
        if batch and full:
            yield WholeLoads(tuple(batch), partitions)
            batch, partitions = [], 0
        batch.append((one.scope, loads[one.scope]))
        partitions += one.partitions
    if batch:
        yield WholeLoads(tuple(batch), partitions)


_Stretch = tuple[int, int, int, int]
"""A table's id, the first and the last id of partitions, and how many those are."""


def _stretches(
    snapshot: DatabaseSnapshot, names: Sequence[TableName]
) -> dict[TableName, list[_Stretch]]:
    """Cut by the database itself: no ids but those at the cuts leave it."""
    ids = _table_ids(snapshot, names)
    if not ids:
        return {}
    columns = snapshot.tables["PARTITIONS"].c
    place = func.row_number().over(partition_by=columns.TBL_ID, order_by=columns.PART_ID)
    counted = (
        select(columns.TBL_ID, columns.PART_ID, (place - 1).label("place"))
        .where(has_id(columns.TBL_ID, "tables"))
        .subquery()
    )
    stretch = func.floor(counted.c.place / BATCH_PARTITIONS_MAX)
    statement = (
        select(
            counted.c.TBL_ID, func.min(counted.c.PART_ID), func.max(counted.c.PART_ID), func.count()
        )
        .group_by(counted.c.TBL_ID, stretch)
        .order_by(counted.c.TBL_ID, func.min(counted.c.PART_ID))
    )
    found: dict[TableName, list[_Stretch]] = {}
    for table, first, last, count in snapshot.rows(statement, {"tables": list(ids)}):
        found.setdefault(ids[table], []).append((table, first, last, count))
    return found


def _table_ids(snapshot: DatabaseSnapshot, names: Sequence[TableName]) -> dict[int, TableName]:
    wanted = set(names)
    tbls, dbs = snapshot.tables["TBLS"].c, snapshot.tables["DBS"].c
    found: dict[int, TableName] = {}
    statement = select(tbls.TBL_ID, dbs.CTLG_NAME, dbs.NAME, tbls.TBL_NAME).join_from(
        snapshot.tables["TBLS"], snapshot.tables["DBS"], tbls.DB_ID == dbs.DB_ID
    )
    statement = statement.where(tbls.TBL_NAME.in_({name.table for name in wanted}))
    for id_, catalog, db, table in snapshot.rows(statement) if wanted else ():
        name = table_name(catalog, db, table)
        if name in wanted:
            found[id_] = name
    return found
