"""What users do to partitions, statistics and constraints, and to transactions."""

import json
from dataclasses import replace
from typing import Any

import msgspec

from hive.events import accuracy
from hive.names import TableName
from state.records import actions
from state.records.objects import ColumnStatisticsImage, ConstraintKind, fingerprint
from tests.model.changes import earlier_rows, save, without_constraints, writer
from tests.model.choices import Choices
from tests.model.content import (
    ConstraintKey,
    Parameters,
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

VALUES: tuple[Values, ...] = (("1", "x"), ("1", "y"), ("2", "x"))
ENGINES = ("hive", "impala")
COLUMNS = ("c", "d")


def add_partitions(store: Metastore, picks: Choices) -> None:
    table = _table(store, picks, partitioned=True)
    free = [values for values in VALUES if table and values not in table.partitions]
    if table is None or not free:
        return
    txn, write_id = writer(store, picks, table.name, managed=table.row.managed)
    rows = {
        values: PartitionRow(
            table.row.columns,
            with_parameter((), "x", store.number()),
            write_id,
            store.number(),
        )
        for values in picks.some(free)
    }
    images = tuple(partition_image(*entry) for entry in rows.items())
    action = actions.PutPartitions(table.name, write_id, images, added=True)
    changed = replace(table, partitions={**table.partitions, **rows})
    save(store, txn, f"add {_texts(rows)} to", changed, action)


def alter_partitions(store: Metastore, picks: Choices) -> None:
    """Several at once, without a word on what the writer had read: the rows, or an earlier state
    of them, but none from before the last writer that held them, as this one does."""
    table = _table(store, picks, partitioned=True)
    if table is None or not table.partitions:
        return
    txn, write_id = writer(store, picks, table.name, managed=table.row.managed)
    changed_values = picks.some(list(table.partitions))
    partitions = dict(table.partitions)
    truncates = picks.below(4) == 3
    written: dict[Values, PartitionRow] = {}
    stale = ""
    for values in changed_values:
        current = partitions[values]
        earlier = _earlier(store, table, values)
        read = picks.of([row for row in earlier if row.held == current.held])
        stale = stale or (" (read before another's write)" if read != current else "")
        written[values] = _altered(store, picks, read, write_id)
        merged = _merged(current, read, written[values])
        partitions[values] = merged._replace(held=store.number())
        if truncates or written[values].columns != read.columns:
            table = table.without_statistics(values)
    images = tuple(partition_image(values, row) for values, row in written.items())
    action = actions.PutPartitions(table.name, write_id, images, added=False, truncates=truncates)
    text = f"alter {_texts(changed_values)}{stale} of"
    save(store, txn, text, replace(table, partitions=partitions), action)


def alter_partition(store: Metastore, picks: Choices) -> None:
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
    partitions[new] = _merged(current, read, written)._replace(held=current.held)
    statistics = dict(table.statistics)
    for key in [key for key in statistics if key.values == old]:
        row = statistics.pop(key)
        if written.columns == read.columns and not truncates and (new == old or picks.below(2)):
            statistics[key._replace(values=new)] = row
    image = partition_image(new, written)
    before = image if truncates else partition_image(old, read)
    action = actions.AlterPartition(name, write_id, old, fingerprint(before.data), image, truncates)
    stale = " (read before another's write)" if read != current else ""
    text = f"alter {_texts([old])}{'' if new == old else ' to ' + _texts([new])}{stale} of"
    save(store, txn, text, replace(table, partitions=partitions, statistics=statistics), action)


def _altered(store: Metastore, picks: Choices, row: PartitionRow, write_id: int) -> PartitionRow:
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
        state = moment.content.tables.get(table.name)
        row = state.partitions.get(values) if state and state.row.id == table.row.id else None
        if row is not None and row not in rows:
            rows.append(row)
    return rows


def drop_partitions(store: Metastore, picks: Choices) -> None:
    """The event never carries a write id."""
    table = _table(store, picks, partitioned=True)
    if table is None or not table.partitions:
        return
    txn, _ = writer(store, picks, table.name, managed=table.row.managed)
    dropped = picks.some(list(table.partitions))
    remaining = {values: row for values, row in table.partitions.items() if values not in dropped}
    action = actions.DropPartitions(table.name, tuple(dropped))
    changed = replace(table, partitions=remaining).without_statistics(*dropped)
    save(store, txn, f"drop {_texts(dropped)} of", changed, action)


def update_statistics(store: Metastore, picks: Choices) -> None:
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
    names = [key.column for key in rows]
    changed = replace(table, statistics={**table.statistics, **rows})
    text, changed, action = (
        _of_table(store, picks, changed, columns, names, write_id)
        if values is None
        else _of_partition(store, picks, changed, values, columns, names, write_id)
    )
    save(store, txn, f"{engine} statistics{text} of", changed, action)


Columns = tuple[ColumnStatisticsImage, ...]


def _of_table(
    store: Metastore,
    picks: Choices,
    table: Table,
    columns: Columns,
    names: list[str],
    write_id: int,
) -> tuple[str, Table, actions.AnyAction]:
    """By a writer that had read the table, or an earlier state of it. Perhaps not said which."""
    current, read = table.row, picks.of(earlier_rows(store, table))
    changes: dict[str, Any] = {
        "parameters": _accurate(read.parameters, names),
        "write_id": write_id or read.write_id,
    }
    # The metastore writes the whole map that it had read; or only what it changes: who knows.
    parameters = changes["parameters"]
    if picks.below(2):
        parameters = _accurate(current.parameters, names)
    row = current._replace(parameters=parameters, write_id=write_id or current.write_id)
    says_so = picks.below(4) < 3
    image = msgspec.structs.replace(
        Table(table.name, read._replace(**changes)).image, write_id=write_id
    )
    action = actions.PutTableStatistics(table.name, write_id, columns, image if says_so else None)
    stale = " (read before another's write)" if read != current else ""
    return f"{stale}{'' if says_so else ' (parameters unsaid)'}", replace(table, row=row), action


def _of_partition(
    store: Metastore,
    picks: Choices,
    table: Table,
    values: Values,
    columns: Columns,
    names: list[str],
    write_id: int,
) -> tuple[str, Table, actions.AnyAction]:
    """Of one, or in the way of many: then the row is held, and only one parameter is told, which
    may be taken away instead where the table has write ids."""
    current = table.partitions[values]
    changes: dict[str, Any] = {"write_id": write_id or current.write_id}
    how = picks.of(["one", "many", "one", "unsaid"])
    if how == "many":
        flag = _accurate(current.parameters, names)
        stripped = table.row.managed and picks.below(2)
        unflagged = tuple((key, value) for key, value in flag if key != accuracy.NAME)
        row = current._replace(parameters=unflagged if stripped else flag, held=store.number())
        said: dict[str, str] | None = {accuracy.NAME: dict(flag)[accuracy.NAME]}
        text = " in the way of many"
    else:
        read = picks.of(_earlier(store, table, values))
        parameters = _accurate(read.parameters, names)
        merged = parameters if picks.below(2) else _accurate(current.parameters, names)
        row = current._replace(parameters=merged)
        said = dict(parameters) if how == "one" else None
        text = " (read before another's write)" if read != current else ""
    partitions = {**table.partitions, values: row._replace(**changes)}
    action = actions.PutPartitionStatistics(
        table.name, write_id, values, columns, said, table.row.managed
    )
    return f"{text} {_texts([values])}", replace(table, partitions=partitions), action


def _accurate(parameters: Parameters, columns: list[str]) -> Parameters:
    """With statistics of more columns."""
    flag = json.loads(dict(parameters).get(accuracy.NAME, "{}"))
    names = sorted({*flag.get("COLUMN_STATS", {}), *columns})
    text = json.dumps({"COLUMN_STATS": dict.fromkeys(names, "true")})
    return tuple(sorted({**dict(parameters), accuracy.NAME: text}.items()))


def delete_statistics(store: Metastore, picks: Choices) -> None:
    """The event doesn't say those of which engine."""
    table = _table(store, picks)
    if table is None:
        return
    values = picks.of([None, *table.partitions])
    engines, column = picks.some(ENGINES), picks.of([None, *COLUMNS])
    remaining = {
        key: row
        for key, row in table.statistics.items()
        if key.values != values or key.engine not in engines or column not in (None, key.column)
    }
    action = actions.DropStatistics(table.name, values, column)
    save(store, 0, "delete statistics of", replace(table, statistics=remaining), action)


def add_constraint(store: Metastore, picks: Choices) -> None:
    table = _table(store, picks)
    if table is None:
        return
    kind = picks.of([ConstraintKind.PRIMARY_KEY, ConstraintKind.CHECK])
    key = ConstraintKey(picks.of(["k", "l"]), kind)
    if key in table.constraints:
        return
    row = store.number()
    action = actions.PutConstraints(table.name, (constraint_image(key, row),))
    changed = replace(table, constraints={**table.constraints, key: row})
    save(store, 0, f"add constraint {key.name} to", changed, action)


def drop_constraint(store: Metastore, picks: Choices) -> None:
    table = _table(store, picks)
    if table is None or not table.constraints:
        return
    name = picks.of(list(table.constraints)).name
    tables = without_constraints(store.now.content.tables, {name})
    store.happen(
        f"drop constraint {name} of {table.name.in_catalog}",
        (table.name, actions.DropConstraint(table.name, name)),
        content=replace(store.now.content, tables=tables),
    )


def begin(store: Metastore, picks: Choices) -> None:
    store.begin(read_only=picks.below(4) == 3)


def allocate(store: Metastore, picks: Choices) -> None:
    """For transactions that have no id of the table yet; the table may come later."""
    table = picks.of(list(store.now.content.tables) or TABLES)
    held = store.now.ids.get(table, {})
    free = [txn for txn in store.now.open if txn not in held and txn not in store.now.read_only]
    store.allocate(table, picks.some(free) if free else [store.begin()])


def allocate_again(store: Metastore, picks: Choices) -> None:
    """A statement is compiled again before it wrote: its transaction gets another id."""
    wrote = {(write.life, write.txn) for write in store.history.writes}
    candidates = [
        (table, txn)
        for table, write_ids in store.now.ids.items()
        for txn in write_ids
        if txn in store.now.open and (store.now.lives[table], txn) not in wrote
    ]
    if candidates:
        table, txn = picks.of(candidates)
        store.allocate(table, [txn])


def end(store: Metastore, picks: Choices) -> None:
    if not store.now.open:
        return
    txn = picks.of(store.now.open)
    how = picks.below(6)
    if how < 4:
        store.commit(txn)
    else:
        store.abort(txn, silently=how == 5)


def purge(store: Metastore, picks: Choices) -> None:
    store.purge()


def restart_ids(store: Metastore, picks: Choices) -> None:
    """A drop of the table was rolled back, but had cleared its write ids."""
    tables = [table for table in store.now.next_ids if table in store.now.content.tables]
    if tables:
        table = picks.of(tables)
        store.silently(f"write ids of {table.in_catalog} restart", **store.without_ids(table))
        store.history.restarts.append(len(store.history.moments) - 1)


def _table(store: Metastore, picks: Choices, *, partitioned: bool = False) -> Table | None:
    tables: dict[TableName, Table] = store.now.content.tables
    found = [table for table in tables.values() if table.row.partitioned or not partitioned]
    return picks.of(found) if found else None


def _texts(values: object) -> str:
    return ", ".join("/".join(one) for one in values)  # type: ignore[attr-defined]
