"""DDL of partitions: add, alter, rename, drop, exchange."""

from collections.abc import Sequence

from metatide.demo import notifications
from metatide.demo.actor import Actor
from metatide.demo.changes import Change, Delete, Update
from metatide.demo.objects import Partition, Table
from metatide.demo.options import Release
from metatide.demo.rows import (
    delete_partitions,
    insert_partitions,
    replace_parameters,
    some,
)
from metatide.demo.structs import stored_partition


def add(actor: Actor, table: Table, count: int, write_id: int | None) -> None:
    """ALTER TABLE ADD PARTITION, or a dynamic insert: one event for all partitions."""
    made = actor.make.partitions(table, count)
    for partition in made:
        table.add_partition(partition)
    event = notifications.add_partitions(table, made, write_id)
    actor.write(insert_partitions(table, made), event)


def set_parameters(actor: Actor, table: Table, count: int, write_id: int | None) -> None:
    """Basic statistics of some partitions after an insert; one event from 4.1 on."""
    names = table.partition_names.sample(actor.rng, count)
    if not names:
        return
    altered = [table.partitions[name] for name in names]
    before = [stored_partition(table, partition) for partition in altered]
    changes: list[Change] = []
    for partition in altered:
        rows = actor.rng.randrange(10_000_000)
        new = partition.parameters | {"numRows": str(rows), "totalSize": str(rows * 31)}
        changes += replace_parameters(
            "PARTITION_PARAMS", "PART_ID", partition.id, partition.parameters, new
        )
        partition.parameters = new
    changes += _advance(altered, write_id)
    if actor.release is Release.HIVE_4_0:
        pairs = zip(before, altered, strict=True)
        events = [notifications.alter_partition(table, old, new) for old, new in pairs]
    else:
        events = [notifications.alter_partitions(table, altered)]
    actor.write(changes, *events)


def rename(actor: Actor, table: Table, write_id: int | None) -> None:
    """ALTER TABLE PARTITION RENAME: changes the values and deletes the statistics."""
    if not table.partitions:
        return
    partition = table.partitions[table.partition_names.choice(actor.rng)]
    before = stored_partition(table, partition)
    # The table still has the partition now, so the new name differs from the old one.
    (target,) = actor.make.partitions(table, 1)
    table.remove_partition(partition)
    partition.values, partition.name = target.values, target.name
    table.add_partition(partition)
    changes = _forget_statistics([partition])
    changes += _rename_rows(partition)
    if table.kind.managed:
        partition.storage.location = f"{table.location}/{partition.name}"
        moved = {"SD_ID": partition.storage.id, "LOCATION": partition.storage.location}
        changes.append(Update("SDS", ("SD_ID",), [moved]))
    changes += _advance([partition], write_id)
    actor.write(changes, notifications.alter_partition(table, before, partition))


def _rename_rows(partition: Partition) -> list[Change]:
    values = [
        {"PART_ID": partition.id, "INTEGER_IDX": place, "PART_KEY_VAL": value}
        for place, value in enumerate(partition.values)
    ]
    named = {"PART_ID": partition.id, "PART_NAME": partition.name}
    return [
        Update("PARTITIONS", ("PART_ID",), [named]),
        Update("PARTITION_KEY_VALS", ("PART_ID", "INTEGER_IDX"), values),
    ]


def drop(actor: Actor, table: Table, count: int) -> list[Partition]:
    """ALTER TABLE DROP PARTITION: one event, which has no write id."""
    names = table.partition_names.sample(actor.rng, count)
    dropped = [table.partitions[name] for name in names]
    if dropped:
        event = notifications.drop_partitions(table, dropped)
        changes = delete_partitions(table, dropped)
        for partition in dropped:
            table.remove_partition(partition)
        actor.write(changes, event)
    return dropped


def exchange(actor: Actor, source: Table, target: Table) -> None:
    """ALTER TABLE EXCHANGE PARTITION: moves the source's partitions that the target lacks."""
    moving = [part for name, part in source.partitions.items() if name not in target.partitions]
    if not moving:
        return
    made = actor.make.partitions_at(target, [partition.values for partition in moving])
    drops = [notifications.drop_partitions(source, [partition]) for partition in moving]
    changes = delete_partitions(source, moving)
    for partition in moving:
        source.remove_partition(partition)
    for partition in made:
        target.add_partition(partition)
    changes += insert_partitions(target, made)
    actor.write(changes, notifications.add_partitions(target, made, None), *drops)


def _forget_statistics(partitions: Sequence[Partition]) -> list[Change]:
    rows = [{"PART_ID": partition.id} for partition in partitions if partition.statistics]
    for partition in partitions:
        partition.statistics.clear()
    return some(Delete("PART_COL_STATS", rows))


def _advance(partitions: Sequence[Partition], write_id: int | None) -> list[Change]:
    if write_id is None:
        return []
    for partition in partitions:
        partition.write_id = write_id
    rows = [{"PART_ID": partition.id, "WRITE_ID": write_id} for partition in partitions]
    return [Update("PARTITIONS", ("PART_ID",), rows)]
