"""What users do to partitions, statistics and constraints, and to transactions."""

from dataclasses import replace
from typing import Any

import msgspec

from hive.names import TableName
from state.records import actions as a
from state.records.objects import ConstraintKind, fingerprint
from tests.model.changes import save, without_constraints, writer
from tests.model.content import (
    ConstraintKey,
    PartitionRow,
    StatisticsKey,
    StatisticsRow,
    Table,
    Values,
    constraint_image,
    partition_image,
    statistics_image,
    with_parameter,
)
from tests.model.metastore import TABLES, Metastore
from tests.model.picks import Picks

VALUES: tuple[Values, ...] = (("1", "x"), ("1", "y"), ("2", "x"))
ENGINES = ("hive", "impala")
COLUMNS = ("c", "d")


def add_partitions(store: Metastore, picks: Picks) -> None:
    table = _table(store, picks, partitioned=True)
    free = [values for values in VALUES if table and values not in table.partitions]
    if table is None or not free:
        return
    txn, write_id = writer(store, picks, table.name, managed=table.row.managed)
    rows = {
        values: PartitionRow(table.row.columns, with_parameter((), "x", store.number()), write_id)
        for values in picks.some(free)
    }
    images = tuple(partition_image(*entry) for entry in rows.items())
    action = a.PutPartitions(table.name, write_id, images, added=True)
    changed = replace(table, partitions={**table.partitions, **rows})
    save(store, txn, f"add {_texts(rows)} to", changed, action)


def alter_partitions(store: Metastore, picks: Picks) -> None:
    """Several at once, without a word on what was before."""
    table = _table(store, picks, partitioned=True)
    if table is None or not table.partitions:
        return
    txn, write_id = writer(store, picks, table.name, managed=table.row.managed)
    changed_values = picks.some(list(table.partitions))
    partitions = dict(table.partitions)
    truncates = picks.below(4) == 3
    for values in changed_values:
        old = partitions[values]
        partitions[values] = _altered(store, picks, old, write_id)
        if truncates or partitions[values].columns != old.columns:
            table = table.without_statistics(values)
    images = tuple(partition_image(values, partitions[values]) for values in changed_values)
    action = a.PutPartitions(table.name, write_id, images, added=False, truncates=truncates)
    text = f"alter {_texts(changed_values)} of"
    save(store, txn, text, replace(table, partitions=partitions), action)


def alter_partition(store: Metastore, picks: Picks) -> None:
    """By a writer that had read it, or an earlier state of it; perhaps to other values."""
    table = _table(store, picks, partitioned=True)
    if table is None or not table.partitions:
        return
    name = table.name
    txn, write_id = writer(store, picks, name, managed=table.row.managed)
    old = picks.of(list(table.partitions))
    current = table.partitions[old]
    read = picks.of(_earlier(store, table, old))
    written = _altered(store, picks, read, write_id)
    new = picks.of([old, old, *(values for values in VALUES if values not in table.partitions)])
    truncates = picks.below(4) == 3
    partitions = {values: row for values, row in table.partitions.items() if values != old}
    partitions[new] = written if read == current else _merged(current, read, written)
    statistics = dict(table.statistics)
    for key in [key for key in statistics if key.values == old]:
        row = statistics.pop(key)
        if written.columns == read.columns and not truncates and (new == old or picks.below(2)):
            statistics[key._replace(values=new)] = row
    image = partition_image(new, written)
    before = image if truncates else partition_image(old, read)
    action = a.AlterPartition(name, write_id, old, fingerprint(before.data), image, truncates)
    stale = " (read before another's write)" if read != current else ""
    text = f"alter {_texts([old])}{'' if new == old else ' to ' + _texts([new])}{stale} of"
    save(store, txn, text, replace(table, partitions=partitions, statistics=statistics), action)


def _altered(store: Metastore, picks: Picks, row: PartitionRow, write_id: int) -> PartitionRow:
    number = store.number()
    altered = picks.of(
        [
            row._replace(parameters=with_parameter(row.parameters, "x", number)),
            row._replace(parameters=with_parameter(row.parameters, "y", number)),
            row._replace(columns=number),
        ]
    )
    return altered._replace(write_id=write_id or row.write_id)


def _merged(current: PartitionRow, read: PartitionRow, written: PartitionRow) -> PartitionRow:
    """The metastore writes only what an alter changes."""
    changes: dict[str, Any] = {
        field: new
        for field, old, new in zip(PartitionRow._fields, read, written, strict=True)
        if new != old
    }
    return current._replace(**changes)


def _earlier(store: Metastore, table: Table, values: Values) -> list[PartitionRow]:
    rows = [table.partitions[values]]
    for moment in reversed(store.history.moments[-12:]):
        known = moment.content.tables.get(table.name)
        row = known.partitions.get(values) if known and known.row.id == table.row.id else None
        if row is not None and row not in rows:
            rows.append(row)
    return rows


def drop_partitions(store: Metastore, picks: Picks) -> None:
    """The event never carries a write id."""
    table = _table(store, picks, partitioned=True)
    if table is None or not table.partitions:
        return
    txn, _ = writer(store, picks, table.name, managed=table.row.managed)
    dropped = picks.some(list(table.partitions))
    kept = {values: row for values, row in table.partitions.items() if values not in dropped}
    action = a.DropPartitions(table.name, tuple(dropped))
    changed = replace(table, partitions=kept).without_statistics(*dropped)
    save(store, txn, f"drop {_texts(dropped)} of", changed, action)


def update_statistics(store: Metastore, picks: Picks) -> None:
    """Of a table or of a partition, for one engine; the parameters change, too."""
    table = _table(store, picks)
    if table is None:
        return
    txn, write_id = writer(store, picks, table.name, managed=table.row.managed)
    values = picks.of([None, *table.partitions])
    engine = picks.of(ENGINES)
    rows = {
        StatisticsKey(values, engine, column): StatisticsRow(store.number(), write_id)
        for column in picks.some(COLUMNS)
    }
    columns = tuple(statistics_image(*entry) for entry in rows.items())
    told = picks.below(4) < 3
    old = table.row if values is None else table.partitions[values]
    parameters = with_parameter(old.parameters, "accurate", store.number())
    changes: dict[str, Any] = {"parameters": parameters, "write_id": write_id or old.write_id}
    table = replace(table, statistics={**table.statistics, **rows})
    action: a.AnyAction
    if values is None:
        table = replace(table, row=table.row._replace(**changes))
        image = msgspec.structs.replace(table.image, write_id=write_id) if told else None
        action = a.PutTableStatistics(table.name, write_id, columns, image)
    else:
        row = table.partitions[values]._replace(**changes)
        table = replace(table, partitions={**table.partitions, values: row})
        said = dict(parameters) if told else None
        action = a.PutPartitionStatistics(table.name, write_id, values, columns, said)
    text = f"{engine} statistics{'' if told else ' (parameters unsaid)'} of"
    save(store, txn, f"{text} {_texts([values]) if values else 'table'}", table, action)


def delete_statistics(store: Metastore, picks: Picks) -> None:
    """The event doesn't say those of which engine."""
    table = _table(store, picks)
    if table is None:
        return
    values = picks.of([None, *table.partitions])
    engines, column = picks.some(ENGINES), picks.of([None, *COLUMNS])
    kept = {
        key: row
        for key, row in table.statistics.items()
        if key.values != values or key.engine not in engines or column not in (None, key.column)
    }
    action = a.DropStatistics(table.name, values, column)
    save(store, 0, "delete statistics of", replace(table, statistics=kept), action)


def add_constraint(store: Metastore, picks: Picks) -> None:
    table = _table(store, picks)
    if table is None:
        return
    kind = picks.of([ConstraintKind.PRIMARY_KEY, ConstraintKind.CHECK])
    key = ConstraintKey(picks.of(["k", "l"]), kind)
    if key in table.constraints:
        return
    row = store.number()
    action = a.PutConstraints(table.name, (constraint_image(key, row),))
    changed = replace(table, constraints={**table.constraints, key: row})
    save(store, 0, f"add constraint {key.name} to", changed, action)


def drop_constraint(store: Metastore, picks: Picks) -> None:
    table = _table(store, picks)
    if table is None or not table.constraints:
        return
    name = picks.of(list(table.constraints)).name
    tables = without_constraints(store.now.content.tables, {name})
    store.happen(
        f"drop constraint {name} of {table.name.in_catalog}",
        (table.name, a.DropConstraint(table.name, name)),
        content=replace(store.now.content, tables=tables),
    )


def begin(store: Metastore, picks: Picks) -> None:
    store.begin(read_only=picks.below(4) == 3)


def allocate(store: Metastore, picks: Picks) -> None:
    """For transactions that have no id of the table yet; the table may come later."""
    table = picks.of(list(store.now.content.tables) or TABLES)
    held = store.now.ids.get(table, {})
    free = [txn for txn in store.now.open if txn not in held and txn not in store.now.read_only]
    store.allocate(table, picks.some(free) if free else [store.begin()])


def allocate_again(store: Metastore, picks: Picks) -> None:
    """A statement is compiled again before it wrote: its transaction gets another id."""
    wrote = {(write.life, write.txn) for write in store.history.writes}
    candidates = [
        (table, txn)
        for table, held in store.now.ids.items()
        for txn in held
        if txn in store.now.open and (store.now.lives[table], txn) not in wrote
    ]
    if candidates:
        table, txn = picks.of(candidates)
        store.allocate(table, [txn])


def end(store: Metastore, picks: Picks) -> None:
    if not store.now.open:
        return
    txn = picks.of(store.now.open)
    how = picks.below(6)
    if how < 4:
        store.commit(txn)
    else:
        store.abort(txn, silently=how == 5)


def purge(store: Metastore, picks: Picks) -> None:
    store.purge()


def restart_ids(store: Metastore, picks: Picks) -> None:
    """A drop of the table was rolled back, but had cleared its write ids."""
    known = [table for table in store.now.next_ids if table in store.now.content.tables]
    if known:
        table = picks.of(known)
        store.silently(f"write ids of {table.in_catalog} restart", **store.without_ids(table))
        store.history.restarts.append(len(store.history.moments) - 1)


def _table(store: Metastore, picks: Picks, *, partitioned: bool = False) -> Table | None:
    tables: dict[TableName, Table] = store.now.content.tables
    found = [table for table in tables.values() if table.row.partitioned or not partitioned]
    return picks.of(found) if found else None


def _texts(values: object) -> str:
    return ", ".join("/".join(one) for one in values)  # type: ignore[attr-defined]
