"""What users do to tables of the toy metastore: each function is one kind of change."""

from dataclasses import replace
from typing import Any, NamedTuple

from connectors.publish.translate import EVERYWHERE, Addressed, misnamed
from hive.names import DatabaseName, TableName
from state.records import actions
from state.records.objects import DatabaseImage, FunctionImage, NameImage, fingerprint
from tests.model.choices import Choices
from tests.model.content import (
    Content,
    DatabaseRow,
    Table,
    TableRow,
    database_bytes,
    number_bytes,
    table_bytes,
    with_parameter,
)
from tests.model.metastore import DBS, TABLES, Metastore


def writer(store: Metastore, picks: Choices, table: TableName, *, managed: bool) -> tuple[int, int]:
    """An open transaction that has a write id of the table, and the id; zeros for none."""
    open_txns = [txn for txn in store.now.open if txn not in store.now.read_only]
    txn = picks.of([0, *open_txns]) if managed else 0
    if not txn:
        return 0, 0
    if txn not in store.now.ids.get(table, {}):
        store.allocate(table, [txn])
    return txn, store.now.ids[table][txn]


class Line(NamedTuple):
    """What lists show of a table, as the writer of an event had read and written it."""

    before: NameImage
    after: NameImage


def save(
    store: Metastore,
    txn: int,
    text: str,
    table: Table,
    *table_actions: actions.AnyAction,
    line: Line | None = None,
) -> None:
    """An event of one table, which is like this from now on."""
    name = table.name
    content = store.now.content
    addressed: list[Addressed] = [(name, action) for action in table_actions]
    if line is not None:
        db = name.database
        addressed.append((db, actions.PutName(db, line.after, True, line.before)))
    store.happen(
        f"{text} {name.in_catalog}" + (f" by {txn}" if txn else ""),
        *addressed,
        content=replace(content, tables={**content.tables, name: table}),
    )
    if txn:
        store.note_write(name, table.row.id, txn)


def create_table(store: Metastore, picks: Choices) -> None:
    content = store.now.content
    free = [n for n in TABLES if n not in content.tables and n.database in content.databases]
    if not free:
        return
    name = picks.of(free)
    managed, partitioned = picks.of([(True, True), (True, False), (False, True)])
    txn, write_id = writer(store, picks, name, managed=managed)
    row = TableRow(store.number(), managed, partitioned, write_id=write_id)
    table = Table(name, row)
    db = name.database
    store.happen(
        f"create {name.in_catalog}" + (f" by {txn}" if txn else ""),
        (name, actions.CreateTable(table.image)),
        (db, actions.PutName(db, table.line)),
        content=replace(content, tables={**content.tables, name: table}),
    )
    if txn:
        store.note_write(name, row.id, txn)


def drop_table(store: Metastore, picks: Choices) -> None:
    if store.now.content.tables:
        _drop_table(store, picks.of(list(store.now.content.tables)))


def _drop_table(store: Metastore, name: TableName) -> None:
    """The write ids of an external table outlive it."""
    content = store.now.content
    managed = content.tables[name].row.managed
    db = name.database
    gone = {key.name for key in content.tables[name].constraints}
    others = without_constraints(_without(content.tables, name), gone)
    store.happen(
        f"drop {name.in_catalog}",
        (name, actions.DropTable(name)),
        (db, actions.DropName(db, name.table)),
        content=replace(content, tables=others),
        **(store.without_ids(name) if managed else {}),
    )


def without_constraints(tables: dict[TableName, Table], names: set[str]) -> dict[TableName, Table]:
    """Constraints go wherever there is one of these names, and no event says so."""
    return {
        name: replace(
            table,
            constraints={k: row for k, row in table.constraints.items() if k.name not in names},
        )
        for name, table in tables.items()
    }


def rename_table(store: Metastore, picks: Choices) -> None:
    """Everything moves; what becomes of statistics is nowhere said."""
    content = store.now.content
    free = [n for n in TABLES if n not in content.tables and n.database in content.databases]
    if not content.tables or not free:
        return
    old, new = picks.of(list(content.tables)), picks.of(free)
    table = replace(content.tables[old], name=new)
    if picks.below(2):
        table = replace(table, statistics={})
    read = picks.of([content.tables[old].row, *earlier_rows(store, content.tables[old])])
    line = Table(new, read).line
    before = Table(old, read).line if old.database == new.database else None
    ids: dict[str, Any] = {}
    for kind in ("ids", "next_ids", "lives"):
        objects = getattr(store.now, kind)
        ids[kind] = {new if name == old else name: objects[name] for name in objects if name != new}
    store.happen(
        f"rename {old.in_catalog} to {new.in_catalog}",
        (old, actions.RenameTable(old, table.image, actions.Side.OLD)),
        (new, actions.RenameTable(old, table.image, actions.Side.NEW)),
        (new.database, actions.PutName(new.database, line, True, before)),
        (old.database, actions.DropName(old.database, old.table)),
        content=replace(content, tables={**_without(content.tables, old), new: table}),
        **ids,
    )


def alter_table(store: Metastore, picks: Choices) -> None:
    """By a writer that had read the table, or an earlier state of it."""
    name = _table(store, picks)
    if name is None:
        return
    current = store.now.content.tables[name]
    txn, write_id = writer(store, picks, name, managed=current.row.managed)
    read = picks.of(earlier_rows(store, current))
    open_ids = [id_ for of, id_ in store.now.ids.get(name, {}).items() if of in store.now.open]
    if write_id and picks.below(4) == 3 and read.write_id not in open_ids:
        # Not sent: the event tells the one that the writer had read. An open one would name its
        # transaction.
        write_id = 0
    changes = _table_changes(store, picks, write_id, read)
    written, stored = read._replace(**changes), current.row._replace(**changes)
    rewrites = written.columns != read.columns
    truncates = not rewrites and picks.below(4) == 3
    before: int | None = fingerprint(table_bytes(name, written if truncates else read))
    if write_id and picks.below(4) == 3:
        before, stored = None, stored._replace(write_id=current.row.write_id)
    table = replace(current, row=stored)
    if rewrites:
        table = _rewritten(store, picks, table)
    if truncates:
        table = replace(table, statistics={})
    action = actions.AlterTable(Table(name, written).image, before, rewrites, truncates)
    text = "truncate" if truncates else "rewrite" if rewrites else "alter"
    stale = " (read before another's write)" if read != current.row else ""
    line = Line(Table(name, read).line, Table(name, written).line)
    save(store, txn, text + stale, table, action, line=None if line[0] == line[1] else line)


def earlier_rows(store: Metastore, table: Table) -> list[TableRow]:
    """The row, and what it was before under this name and id."""
    rows = [table.row]
    for moment in reversed(store.history.moments[-12:]):
        state = moment.content.tables.get(table.name)
        if state is not None and state.row.id == table.row.id and state.row not in rows:
            rows.append(state.row)
    return rows


def _table_changes(
    store: Metastore, picks: Choices, write_id: int, read: TableRow
) -> dict[str, Any]:
    number = store.number()
    changes: dict[str, Any] = picks.of(
        [
            {"parameters": with_parameter(read.parameters, "x", number)},
            {"parameters": with_parameter(read.parameters, "y", number)},
            {"owner": f"o{number}"},
            {"comment": f"c{number}"},
            {"columns": number},
        ]
    )
    return {**changes, "write_id": write_id} if write_id else changes


def _rewritten(store: Metastore, picks: Choices, table: Table) -> Table:
    """The columns changed: with CASCADE the partitions too, and statistics go."""
    if picks.below(2):
        partitions = {v: p._replace(columns=table.row.columns) for v, p in table.partitions.items()}
        table = replace(table, partitions=partitions)
    constraints = dict(table.constraints)
    if constraints and picks.below(2):
        constraints.popitem()
    remaining = {key: row for key, row in table.statistics.items() if key.column != "c"}
    return replace(table, statistics=remaining, constraints=constraints)


def alter_renamed(store: Metastore, picks: Choices) -> None:
    """By a writer that had read a table before it was renamed: its event has the old name."""
    name = _table(store, picks)
    if name is None or not _former_names(store, name):
        return
    table = store.now.content.tables[name]
    content = store.now.content
    if picks.below(4) == 3:
        _happen_misnamed(store, name, "drop", _without(content.tables, name))
        return
    changes: dict[str, Any] = picks.of(
        [
            {"parameters": with_parameter(table.row.parameters, "x", store.number())},
            {"owner": f"o{store.number()}"},
        ]
    )
    altered = replace(table, row=table.row._replace(**changes))
    _happen_misnamed(store, name, "alter", {**content.tables, name: altered})


def _happen_misnamed(
    store: Metastore, name: TableName, text: str, tables: dict[TableName, Table]
) -> None:
    ids = store.without_ids(name) if name not in tables else {}
    store.happen(
        f"{text} {name.in_catalog} by its old name",
        *misnamed(name),
        content=replace(store.now.content, tables=tables),
        **ids,
    )


def _former_names(store: Metastore, name: TableName) -> set[TableName]:
    """What the table was called in the last moments."""
    id_ = store.now.content.tables[name].row.id
    return {
        table.name
        for moment in store.history.moments[-12:]
        for table in moment.content.tables.values()
        if table.row.id == id_ and table.name != name
    }


def create_database(store: Metastore, picks: Choices) -> None:
    free = [db for db in DBS if db not in store.now.content.databases]
    if free:
        db = picks.of(free)
        row = DatabaseRow(store.number(), store.number())
        action = actions.PutDatabase(DatabaseImage(db, database_bytes(row)))
        _put_database(store, "create", db, row, (EVERYWHERE, action), (db, actions.CreateNames(db)))


def alter_database(store: Metastore, picks: Choices) -> None:
    """By a writer that had read it, or an earlier state of it."""
    if not store.now.content.databases:
        return
    db = picks.of(list(store.now.content.databases))
    current = store.now.content.databases[db]
    read = picks.of([*[current] * 6, *_earlier_databases(store, db)])
    change = {picks.of(["parameters", "owner"]): store.number()}
    image = DatabaseImage(db, database_bytes(read._replace(**change)))
    action = actions.PutDatabase(image, altered=True, before=fingerprint(database_bytes(read)))
    stale = " (read before another's write)" if read != current else ""
    _put_database(store, f"alter{stale}", db, current._replace(**change), (EVERYWHERE, action))


def _earlier_databases(store: Metastore, db: DatabaseName) -> list[DatabaseRow]:
    rows: list[DatabaseRow] = []
    for moment in reversed(store.history.moments[-12:]):
        row = moment.content.databases.get(db)
        if row is None:
            break
        if row not in rows:
            rows.append(row)
    return rows


def _put_database(
    store: Metastore, text: str, db: DatabaseName, row: DatabaseRow, *addressed: Addressed
) -> None:
    content = store.now.content
    databases = {**content.databases, db: row}
    store.happen(
        f"{text} database {db.db}", *addressed, content=replace(content, databases=databases)
    )


def drop_database(store: Metastore, picks: Choices) -> None:
    """With an event for each thing that is in it, or with none."""
    if not store.now.content.databases:
        return
    db = picks.of(list(store.now.content.databases))
    if picks.below(2):
        for function in store.now.content.functions_of(db):
            _drop_function(store, db, function)
        for table in store.now.content.tables_of(db):
            _drop_table(store, table.name)
    content = store.now.content
    dropped = [name for name in TABLES if name.database == db]
    gone = {key.name for table in content.tables_of(db) for key in table.constraints}
    remaining = Content(
        without_constraints({n: t for n, t in content.tables.items() if n not in dropped}, gone),
        _without(content.databases, db),
        {key: row for key, row in content.functions.items() if key[0] != db},
    )
    store.happen(
        f"drop database {db.db}",
        (EVERYWHERE, actions.DropDatabase(db)),
        content=remaining,
        **store.without_ids(*dropped),
    )


def create_function(store: Metastore, picks: Choices) -> None:
    content = store.now.content
    free = [
        (db, name)
        for db in content.databases
        for name in "fg"
        if (db, name) not in content.functions
    ]
    if not free:
        return
    db, name = picks.of(free)
    number = store.number()
    store.happen(
        f"create function {db.db}.{name}",
        (db, actions.PutFunction(db, FunctionImage(name, number_bytes(number)))),
        content=replace(content, functions={**content.functions, (db, name): number}),
    )


def drop_function(store: Metastore, picks: Choices) -> None:
    if store.now.content.functions:
        _drop_function(store, *picks.of(list(store.now.content.functions)))


def _drop_function(store: Metastore, db: DatabaseName, name: str) -> None:
    content = store.now.content
    store.happen(
        f"drop function {db.db}.{name}",
        (db, actions.DropFunction(db, name)),
        content=replace(content, functions=_without(content.functions, (db, name))),
    )


def unreadable(store: Metastore, picks: Choices) -> None:
    """An event of which a connector can make nothing: something happened, who knows what."""
    name = _table(store, picks)
    if name is None:
        store.happen("something unreadable", (EVERYWHERE, actions.Undecodable(None)))
        return
    table = store.now.content.tables[name]
    row = table.row._replace(parameters=with_parameter((), "unread", store.number()))
    changed = replace(table, row=row, statistics={}, partitions={})
    everything = picks.below(4) == 3
    content = store.now.content
    action = actions.Undecodable(None if everything else name)
    store.happen(
        f"something unreadable about {'anything' if everything else name.in_catalog}",
        *([(EVERYWHERE, action)] if everything else [(name, action), (name.database, action)]),
        content=replace(content, tables={**content.tables, name: changed}),
    )


def _table(store: Metastore, picks: Choices) -> TableName | None:
    tables = list(store.now.content.tables)
    return picks.of(tables) if tables else None


def _without(mapping: Any, key: Any) -> dict[Any, Any]:
    return {known: value for known, value in mapping.items() if known != key}
