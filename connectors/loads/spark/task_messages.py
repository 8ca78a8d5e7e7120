"""The messages between the driver of a prewarm and its tasks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from math import ceil
from operator import attrgetter
from typing import Final, NamedTuple

from sqlalchemy import func, select

from connectors.loads.plan import BATCH_PARTITIONS_MAX, BATCH_SCOPES_MAX, Planned
from connectors.log.last_event import LastEvent
from hive.names import TableName, table_name
from hive.reader.details import has_id
from hive.reader.snapshot import DatabaseSnapshot
from hive.schema import Version
from state.records import Scope
from state.topic import Topic

_NAMES_MAX: Final = 10_000
"""How many names a statement holds, each as a parameter: PostgreSQL takes 65,535."""
_PIECES_A_TASK_MAX: Final = 20
"""What a lost executor has read is read again."""
_TASKS_A_SLOT: Final = 4
"""Enough tasks that all slots end at about the same time."""

Loads = Mapping[Scope, str]
"""The ids of the loads that have begun, by scope."""


class Counts(NamedTuple):
    """The callbacks with which tasks report their progress."""

    scopes: Callable[[int], None]
    partitions: Callable[[int], None]
    bytes: Callable[[int], None]


class Reach(NamedTuple):
    """The database that tasks read and the topic that they write."""

    url: str
    version: Version
    topic: Topic
    epoch: int
    counts: Counts
    exported: str | None = None
    """The snapshot that all tasks share; None if the database can't export one."""
    reached: int = 0
    """The event that each piece must see: the last one that the driver has seen."""


class WholeLoads(NamedTuple):
    """Loads that are read together, from beginning to end."""

    loads: tuple[tuple[Scope, str], ...]
    partitions: int

    @property
    def what(self) -> str:
        """A description for people."""
        (first, _), *others = self.loads
        also = f" and {len(others)} others" if others else ""
        return f"load of {first.kind.value} {first.name}{also}"


class LoadPart(NamedTuple):
    """A stretch of a table's partitions; the part at the first place also has the rest of the
    table."""

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
        """A description for people."""
        stretch = f"PART_ID {self.first} to {self.last}"
        return f"load of table {self.scope.name}, {stretch}, after event {self.position}"


Piece = WholeLoads | LoadPart
"""What one snapshot reads. A task has several, one after the other."""


class PieceResult(NamedTuple):
    """The result of a piece, for the driver."""

    piece: Piece
    last: LastEvent
    """The last event that its snapshot has seen."""
    chunks: int
    ended: tuple[Scope, ...]
    fault: str | None = None


class FinishedLoad(NamedTuple):
    """A load in parts, all of which were written."""

    scope: Scope
    load: str
    lo: int
    last: LastEvent
    """The last event that any part has seen."""
    chunks: tuple[int, ...]
    """The number of chunks of each place."""


def cut(snapshot: DatabaseSnapshot, planned: Sequence[Planned], loads: Loads) -> Iterator[Piece]:
    """Cuts the plan into pieces of about equal size: many small tables, or a stretch of a large
    one."""
    large = [item for item in planned if item.partitions > BATCH_PARTITIONS_MAX]
    stretches = _stretches(snapshot, [item.scope.name for item in large])
    small = [item for item in planned if item.scope.name not in stretches]
    yield from _batches(small, loads)
    for item in large:
        cuts = stretches.get(item.scope.name, [])
        for place, (table, first, last, partitions) in enumerate(cuts):
            yield LoadPart(
                *(item.scope, loads[item.scope], table, first, last),
                *(place, len(cuts), snapshot.position, partitions),
            )


def share_out(pieces: Sequence[Piece], slots: int) -> list[list[Piece]]:
    """Shares pieces out to tasks of about equal size, for an engine that runs so many at a time.

    A task begins after about the time that a piece takes: Spark has Python read the directories of
    all archives on its path anew, once for each package that it has imported from there.
    """
    tasks = max(ceil(len(pieces) / _PIECES_A_TASK_MAX), _TASKS_A_SLOT * slots)
    tasks = min(len(pieces), tasks)
    by_size = sorted(pieces, key=attrgetter("partitions"), reverse=True)
    return [by_size[first::tasks] for first in range(tasks)]


def _batches(planned: Iterable[Planned], loads: Loads) -> Iterator[WholeLoads]:
    batch: list[tuple[Scope, str]] = []
    partitions = 0
    for item in planned:
        full = len(batch) == BATCH_SCOPES_MAX or partitions + item.partitions > BATCH_PARTITIONS_MAX
        if batch and full:
            yield WholeLoads(tuple(batch), partitions)
            batch, partitions = [], 0
        batch.append((item.scope, loads[item.scope]))
        partitions += item.partitions
    if batch:
        yield WholeLoads(tuple(batch), partitions)


_Stretch = tuple[int, int, int, int]
"""The id of a table, the first and the last id of its partitions, and their number."""


def _stretches(
    snapshot: DatabaseSnapshot, names: Sequence[TableName]
) -> dict[TableName, list[_Stretch]]:
    """Cuts large tables into ranges of ids in the database: only the ids at the cuts are read."""
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
    stretches: dict[TableName, list[_Stretch]] = {}
    for table, first, last, count in snapshot.rows(statement, {"tables": list(ids)}):
        stretches.setdefault(ids[table], []).append((table, first, last, count))
    return stretches


def _table_ids(snapshot: DatabaseSnapshot, names: Sequence[TableName]) -> dict[int, TableName]:
    wanted = set(names)
    tables = sorted({name.table for name in wanted})
    tbls, dbs = snapshot.tables["TBLS"].c, snapshot.tables["DBS"].c
    ids: dict[int, TableName] = {}
    statement = select(tbls.TBL_ID, dbs.CTLG_NAME, dbs.NAME, tbls.TBL_NAME).join_from(
        snapshot.tables["TBLS"], snapshot.tables["DBS"], tbls.DB_ID == dbs.DB_ID
    )
    for start in range(0, len(tables), _NAMES_MAX):
        batch = tables[start : start + _NAMES_MAX]
        for id_, catalog, db, table in snapshot.rows(statement.where(tbls.TBL_NAME.in_(batch))):
            name = table_name(catalog, db, table)
            if name in wanted:
                ids[id_] = name
    return ids
