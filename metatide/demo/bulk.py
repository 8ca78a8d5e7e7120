"""Writes a catalog of a given size in bulk and without events, as if the log had been cleaned."""

from collections.abc import Iterator, Sequence

from metatide.demo.actor import Actor
from metatide.demo.changes import Change, Insert, Row
from metatide.demo.objects import Partition, Table
from metatide.demo.rows import insert_database, insert_partitions, insert_table
from metatide.demo.workload import DATABASES, Workload

TABLES_AT_ONCE = 200
PARTITIONS_AT_ONCE = 2_000


def fill(workload: Workload) -> Iterator[int]:
    """Fills the workload's databases, tables and partitions; yields the number of partitions
    written so far.
    """
    actor = workload.actor(0)
    try:
        for number in range(DATABASES):
            database = actor.make.database(f"{workload.prefix}_{number}")
            workload.catalog.databases.append(database)
            actor.write(insert_database(database))
        partitioned = [table for table in _fill_tables(actor, workload) if table.keys]
        written = 0
        for batch in _batches(actor, workload, partitioned):
            actor.write(
                merge([change for table, new in batch for change in insert_partitions(table, new)])
            )
            written += sum(len(new) for _, new in batch)
            yield written
    finally:
        actor.sink.close()


def _fill_tables(actor: Actor, workload: Workload) -> list[Table]:
    places = workload.catalog.take_places(workload.size.tables)
    made: list[Table] = []
    for start in range(0, len(places), TABLES_AT_ONCE):
        here = places[start : start + TABLES_AT_ONCE]
        new = [workload.new_table(actor) for _ in here]
        for place, table in zip(here, new, strict=True):
            workload.catalog.put(place, table)
        actor.write(merge([change for table in new for change in insert_table(table)]))
        made += new
    return made


Batch = list[tuple[Table, list[Partition]]]


def _batches(actor: Actor, workload: Workload, tables: Sequence[Table]) -> Iterator[Batch]:
    batch: Batch = []
    room = PARTITIONS_AT_ONCE
    for table, share in zip(tables, workload.shares(len(tables)), strict=True):
        while share:
            new = actor.make.partitions(table, min(share, room))
            for partition in new:
                table.add_partition(partition)
            batch.append((table, new))
            share -= len(new)
            room -= len(new)
            if not room:
                yield batch
                batch, room = [], PARTITIONS_AT_ONCE
    if batch:
        yield batch


def merge(changes: Sequence[Change]) -> list[Change]:
    """Merges insertions into one per table. The given ones have parents first, and so has the
    result.
    """
    rows: dict[str, list[Row]] = {}
    for change in changes:
        assert isinstance(change, Insert)
        rows.setdefault(change.table, []).extend(change.rows)
    return [Insert(table, of) for table, of in rows.items()]
