"""What writers change in a simulated metastore: each function is one kind of change.

It reads the database and returns what its transaction will do to the database as that is when it
commits; None if there is nothing to change.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from hive.names import DatabaseName, TableName, table_name
from hive.write_ids.snapshot import TxnState
from metatide.demo import messages
from tests.simulation.content import (
    Content,
    PartitionRow,
    Table,
    TableRow,
    Values,
    database_struct,
    merged,
    partition_struct,
    table_struct,
    with_parameter,
)
from tests.simulation.database import Moment

DBS: Final = tuple(DatabaseName("hive", db) for db in ("a", "b"))
TABLES: Final = tuple(table_name(None, db.db, table) for db in DBS for table in "stuv")
PARTITIONS: Final = tuple((value,) for value in "1234")


class Refused(Exception):  # noqa: N818
    """The transaction is rolled back: what it was about isn't there any more."""


class Change(NamedTuple):
    """What a transaction commits: rows, and the event that it logs."""

    changes: dict[str, Any]
    kind: str
    table: TableName | DatabaseName | None
    message: Any
    text: str
    write: tuple[int, int, int] | None = None
    """Table id, transaction and write id of a write."""


Apply = Callable[[Moment], Change]


class Picks:
    """Choices by small numbers, which are used in turn."""

    def __init__(self, numbers: tuple[int, ...]) -> None:
        self._numbers = numbers or (0,)
        self._used = 0

    def of(self, options: Any) -> Any:
        return options[self.number() % len(options)]

    def number(self) -> int:
        number = self._numbers[self._used % len(self._numbers)]
        self._used += 1
        return number


def create_database(now: Moment, picks: Picks) -> Apply | None:
    free = [db for db in DBS if db not in now.content.databases]
    if not free:
        return None
    db = picks.of(free)

    def apply(now: Moment) -> Change:
        if db in now.content.databases:
            raise Refused
        content = Content(now.content.tables, {**now.content.databases, db: ()})
        message = messages.database(database_struct(db, ()))
        return Change({"content": content}, "CREATE_DATABASE", db, message, f"create {db.db}")

    return apply


def alter_database(now: Moment, picks: Picks) -> Apply | None:
    if not now.content.databases:
        return None
    db = picks.of(list(now.content.databases))
    read = now.content.databases[db]
    written = with_parameter(read, picks.of(["x", "y"]), now.event)

    def apply(now: Moment) -> Change:
        if db not in now.content.databases:
            raise Refused
        stored = merged(now.content.databases[db], read, written)
        content = Content(now.content.tables, {**now.content.databases, db: stored})
        message = messages.alter_database(database_struct(db, read), database_struct(db, written))
        return Change({"content": content}, "ALTER_DATABASE", db, message, f"alter {db.db}")

    return apply


def drop_database(now: Moment, picks: Picks) -> Apply | None:
    empty = [db for db in now.content.databases if not now.content.of(db)]
    if not empty:
        return None
    db = picks.of(empty)

    def apply(now: Moment) -> Change:
        if db not in now.content.databases or now.content.of(db):
            raise Refused
        databases = {k: v for k, v in now.content.databases.items() if k != db}
        content = Content(now.content.tables, databases)
        message = messages.database(database_struct(db, ()))
        return Change({"content": content}, "DROP_DATABASE", db, message, f"drop {db.db}")

    return apply


def create_table(now: Moment, picks: Picks) -> Apply | None:
    free = [
        n for n in TABLES if n not in now.content.tables and n.database in now.content.databases
    ]
    if not free:
        return None
    name = picks.of(free)
    managed, partitioned = picks.of([(True, True), (False, True), (True, False), (False, False)])

    def apply(now: Moment) -> Change:
        if name in now.content.tables or name.database not in now.content.databases:
            raise Refused
        table = Table(name, TableRow(now.next_id, managed, partitioned))
        struct = table_struct(name, table.row)
        if not managed:
            struct["writeId"] = -1
        return Change(
            {"content": now.content.with_table(table), "next_id": now.next_id + 1},
            "CREATE_TABLE",
            name,
            messages.create_table(struct),
            f"create {name}, id {table.row.id}",
        )

    return apply


def drop_table(now: Moment, picks: Picks) -> Apply | None:
    if not now.content.tables:
        return None
    read = now.content.tables[picks.of(list(now.content.tables))]

    def apply(now: Moment) -> Change:
        table = _same(now, read)
        changes: dict[str, Any] = {"content": now.content.without_table(table.name)}
        if table.row.managed:
            changes |= _without_ids(now, table.name)
        struct = table_struct(read.name, read.row)
        message = messages.drop_table(struct)
        return Change(changes, "DROP_TABLE", read.name, message, f"drop {read.name}")

    return apply


def rename_table(now: Moment, picks: Picks) -> Apply | None:
    free = [
        n for n in TABLES if n not in now.content.tables and n.database in now.content.databases
    ]
    if not now.content.tables or not free:
        return None
    read = now.content.tables[picks.of(list(now.content.tables))]
    new = picks.of(free)

    def apply(now: Moment) -> Change:
        table = _same(now, read)
        if table.name != read.name or new in now.content.tables:
            raise Refused
        if new.database not in now.content.databases:
            raise Refused
        renamed = table._replace(name=new)
        changes: dict[str, Any] = {
            "content": now.content.with_table(renamed, instead_of=table.name),
            "ids": _renamed(now.ids, table.name, new),
            "next_ids": _renamed(now.next_ids, table.name, new),
        }
        message = messages.alter_table(
            table_struct(read.name, read.row), table_struct(new, read.row), write_id=-1
        )
        return Change(changes, "ALTER_TABLE", new, message, f"rename {read.name} to {new}")

    return apply


def alter_table(now: Moment, picks: Picks) -> Apply | None:
    """Changes a parameter; of a managed table under a write id, if a transaction has one."""
    if not now.content.tables:
        return None
    read = now.content.tables[picks.of(list(now.content.tables))]
    txn, write_id = _writer(now, read, picks)
    written = read.row._replace(
        parameters=with_parameter(read.row.parameters, picks.of(["x", "y"]), now.event),
        write_id=write_id or read.row.write_id,
    )

    def apply(now: Moment) -> Change:
        table = _same(now, read)
        _still(now, txn)
        row = table.row._replace(
            parameters=merged(table.row.parameters, read.row.parameters, written.parameters),
            write_id=write_id or table.row.write_id,
        )
        message = messages.alter_table(
            table_struct(read.name, read.row),
            table_struct(read.name, written),
            write_id=write_id or -1,
        )
        return Change(
            {"content": now.content.with_table(table._replace(row=row))},
            "ALTER_TABLE",
            read.name,
            message,
            f"alter {read.name} {dict(row.parameters)}" + (f" by {txn}" if txn else ""),
            (row.id, txn, write_id) if txn else None,
        )

    return apply


def add_partition(now: Moment, picks: Picks) -> Apply | None:
    read = _partitioned(now, picks)
    if read is None:
        return None
    values = picks.of(PARTITIONS)
    txn, write_id = _writer(now, read, picks)
    made = (("made", str(now.event)),)

    def apply(now: Moment) -> Change:
        table = _same(now, read)
        _still(now, txn)
        if values in dict(table.partitions):
            raise Refused
        row = PartitionRow(now.next_id, made)
        struct = partition_struct(read.name, values, row._replace(write_id=write_id or -1))
        message = messages.add_partition(table_struct(read.name, read.row), [struct])
        content = now.content.with_table(table.with_partition(values, row))
        return Change(
            {"content": content, "next_id": now.next_id + 1},
            "ADD_PARTITION",
            read.name,
            message,
            f"add {values} to {read.name}" + (f" by {txn}" if txn else ""),
            (table.row.id, txn, write_id) if txn else None,
        )

    return apply


def alter_partition(now: Moment, picks: Picks) -> Apply | None:
    """Changes a parameter, by an event that has the partition before it or one that hasn't."""
    read = _partitioned(now, picks)
    if read is None or not read.partitions:
        return None
    values, before = picks.of(read.partitions)
    txn, write_id = _writer(now, read, picks)
    after = before._replace(
        parameters=with_parameter(before.parameters, picks.of(["x", "y"]), now.event),
        write_id=write_id or before.write_id,
    )
    locks = picks.number() % 2 == 0

    def apply(now: Moment) -> Change:
        table = _same(now, read)
        _still(now, txn)
        current_values, current = _same_partition(table, before)
        # A row that was locked is compared with what is to be stored, and gets all of it.
        row = current._replace(
            parameters=after.parameters
            if locks
            else merged(current.parameters, before.parameters, after.parameters),
            write_id=write_id or current.write_id,
        )
        table_read, written = (
            table_struct(read.name, read.row),
            partition_struct(read.name, values, after),
        )
        message: Any = (
            messages.alter_partitions(table_read, [written])
            if locks
            else messages.alter_partition(
                table_read, partition_struct(read.name, values, before), written
            )
        )
        return Change(
            {"content": now.content.with_table(table.with_partition(current_values, row))},
            "ALTER_PARTITIONS" if locks else "ALTER_PARTITION",
            read.name,
            message,
            f"alter {values} of {read.name}, now {current_values}" + (f" by {txn}" if txn else ""),
            (table.row.id, txn, write_id) if txn else None,
        )

    return apply


def rename_partition(now: Moment, picks: Picks) -> Apply | None:
    read = _partitioned(now, picks)
    if read is None or not read.partitions:
        return None
    values, before = picks.of(read.partitions)
    free = [other for other in PARTITIONS if other not in dict(read.partitions)]
    if not free:
        return None
    new = picks.of(free)

    def apply(now: Moment) -> Change:
        table = _same(now, read)
        current_values, current = _same_partition(table, before)
        if new in dict(table.partitions):
            raise Refused
        message = messages.alter_partition(
            table_struct(read.name, read.row),
            partition_struct(read.name, values, before),
            partition_struct(read.name, new, before),
        )
        renamed = table.with_partition(new, current, instead_of=current_values)
        return Change(
            {"content": now.content.with_table(renamed)},
            "ALTER_PARTITION",
            read.name,
            message,
            f"rename {values} of {read.name}, now {current_values}, to {new}",
        )

    return apply


def drop_partition(now: Moment, picks: Picks) -> Apply | None:
    read = _partitioned(now, picks)
    if read is None or not read.partitions:
        return None
    values, before = picks.of(read.partitions)

    def apply(now: Moment) -> Change:
        table = _same(now, read)
        current_values, _ = _same_partition(table, before)
        message = messages.drop_partition(table_struct(read.name, read.row), [values])
        changed = table.without_partition(current_values)
        return Change(
            {"content": now.content.with_table(changed)},
            "DROP_PARTITION",
            read.name,
            message,
            f"drop {values} of {read.name}",
        )

    return apply


def begin(now: Moment, picks: Picks) -> Apply | None:
    def apply(now: Moment) -> Change:
        txn = now.next_txn
        changes = {"txns": {**now.txns, txn: TxnState.OPEN}, "next_txn": txn + 1}
        return Change(changes, "OPEN_TXN", None, messages.open_txn(txn, txn), f"open {txn}")

    return apply


def allocate(now: Moment, picks: Picks) -> Apply | None:
    """A write id of a managed table for an open transaction."""
    managed = [table for table in now.content.tables.values() if table.row.managed]
    if not managed or not now.open:
        return None
    read, txn = picks.of(managed), picks.of(now.open)

    def apply(now: Moment) -> Change:
        table = _same(now, read)
        _still(now, txn)
        own_ids = now.ids.get(table.name, {})
        if table.name != read.name or txn in own_ids:
            raise Refused
        id_ = now.next_ids.get(table.name, 1)
        changes = {
            "ids": {**now.ids, table.name: {**own_ids, txn: id_}},
            "next_ids": {**now.next_ids, table.name: id_ + 1},
        }
        message = messages.alloc_write_ids(table.name.db, table.name.table, [(txn, id_)])
        text = f"allocate {table.name} {txn}→{id_}"
        return Change(changes, "ALLOC_WRITE_ID_EVENT", table.name, message, text)

    return apply


def end(now: Moment, picks: Picks) -> Apply | None:
    if not now.open:
        return None
    txn = picks.of(now.open)
    commits = picks.number() % 4 < 3

    def apply(now: Moment) -> Change:
        _still(now, txn)
        pairs = [(table.db, own_ids[txn]) for table, own_ids in now.ids.items() if txn in own_ids]
        state = TxnState.COMMITTED if commits else TxnState.ABORTED
        changes = {"txns": {**now.txns, txn: state}}
        if commits:
            return Change(
                changes, "COMMIT_TXN", None, messages.commit_txn(txn, pairs), f"commit {txn}"
            )
        dbs, ids = sorted({db for db, _ in pairs}), [id_ for _, id_ in pairs]
        message = messages.abort_txn(txn, dbs, ids)
        return Change(changes, "ABORT_TXN", None, message, f"abort {txn}")

    return apply


WRITES: Final[Mapping[str, Callable[[Moment, Picks], Apply | None]]] = {
    write.__name__: write
    for write in (
        create_database,
        alter_database,
        drop_database,
        create_table,
        drop_table,
        rename_table,
        alter_table,
        add_partition,
        alter_partition,
        rename_partition,
        drop_partition,
        begin,
        allocate,
        end,
    )
}


def _same(now: Moment, read: Table) -> Table:
    """The table as it is now, whatever it is called."""
    table = now.content.by_id(read.row.id)
    if table is None:
        raise Refused
    return table


def _same_partition(table: Table, read: PartitionRow) -> tuple[Values, PartitionRow]:
    """The partition as it is now, whatever its values are."""
    partition = table.partition_by_id(read.id)
    if partition is None:
        raise Refused
    return partition


def _still(now: Moment, txn: int) -> None:
    if txn and now.txns.get(txn) is not TxnState.OPEN:
        raise Refused


def _writer(now: Moment, table: Table, picks: Picks) -> tuple[int, int]:
    """An open transaction with a write id of the table; zeros for none."""
    held = now.ids.get(table.name, {}) if table.row.managed else {}
    writers = [(txn, id_) for txn, id_ in held.items() if txn in now.open]
    return picks.of([(0, 0), *writers, *writers]) if writers else (0, 0)


def _partitioned(now: Moment, picks: Picks) -> Table | None:
    tables = [table for table in now.content.tables.values() if table.row.partitioned]
    return picks.of(tables) if tables else None


def _without_ids(now: Moment, name: TableName) -> dict[str, Any]:
    return {
        "ids": {table: ids for table, ids in now.ids.items() if table != name},
        "next_ids": {table: id_ for table, id_ in now.next_ids.items() if table != name},
    }


def _renamed(ids: Mapping[TableName, Any], old: TableName, new: TableName) -> dict[TableName, Any]:
    return {new if name == old else name: row for name, row in ids.items() if name != new}
