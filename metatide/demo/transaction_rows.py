"""Transactions: open, allocate write ids, commit, abort."""

from collections.abc import Sequence

from metatide.demo import notifications
from metatide.demo.actor import Actor
from metatide.demo.changes import Change, Delete, Insert, Move, Update
from metatide.demo.objects import Database, Table
from metatide.demo.records import Notification
from metatide.demo.rows import some
from metatide.demo.transactions import Transaction


def begin(actor: Actor) -> Transaction:
    """Opens a transaction."""
    return begin_many(actor, 1)[0]


def begin_many(actor: Actor, count: int) -> list[Transaction]:
    """Opens transactions as a streaming client does; one event for each consecutive range."""
    ids = actor.open_transactions(count)
    starts = [n for n in range(count) if n == 0 or ids[n] != ids[n - 1] + 1]
    ranges = zip(starts, [*starts[1:], count], strict=True)
    actor.write([], *(notifications.open_txn(ids[start], ids[end - 1]) for start, end in ranges))
    return [Transaction(id_) for id_ in ids]


def allocate(actor: Actor, transactions: Sequence[Transaction], table: Table) -> int:
    """Allocates a write id of this table for each of the transactions; returns the first."""
    first = table.next_write_id
    table.next_write_id += len(transactions)
    pairs = [(txn.id, first + n) for n, txn in enumerate(transactions)]
    database, name = table.database.name, table.name
    following = {"NWI_DATABASE": database, "NWI_TABLE": name, "NWI_NEXT": table.next_write_id}
    changes: list[Change] = [
        Insert("NEXT_WRITE_ID", [following])
        if first == 1
        else Update("NEXT_WRITE_ID", ("NWI_DATABASE", "NWI_TABLE"), [following]),
        Insert(
            "TXN_TO_WRITE_ID",
            [
                {
                    "T2W_TXNID": txn_id,
                    "T2W_DATABASE": database,
                    "T2W_TABLE": name,
                    "T2W_WRITEID": write_id,
                }
                for txn_id, write_id in pairs
            ],
        ),
        Insert(
            "TXN_COMPONENTS",
            [
                {
                    "TC_TXNID": txn_id,
                    "TC_DATABASE": database,
                    "TC_TABLE": name,
                    "TC_OPERATION_TYPE": "i",
                    "TC_WRITEID": write_id,
                }
                for txn_id, write_id in pairs
            ],
        ),
    ]
    for txn, (txn_id, write_id) in zip(transactions, pairs, strict=True):
        txn.tables.append(table)
        table.write_ids[txn_id] = write_id
    actor.write(changes, notifications.alloc_write_ids(table, pairs))
    return first


def commit(actor: Actor, txn: Transaction, *more: Notification) -> None:
    """Commits the transaction; `more` events may follow in the same write."""
    with actor.catalog.hold_again(txn.tables):
        writes = txn.write_ids()
        completed = [
            {
                "CTC_TXNID": txn.id,
                "CTC_DATABASE": table.database.name,
                "CTC_TABLE": table.name,
                "CTC_WRITEID": write_id,
                "CTC_UPDATE_DELETE": "N",
            }
            for write_id, table in writes
        ]
        changes = [
            *some(Insert("COMPLETED_TXN_COMPONENTS", completed)),
            Delete("TXN_COMPONENTS", [{"TC_TXNID": txn.id}]),
            _state(txn, "c"),
        ]
        pairs = [(table.database.name, write_id) for write_id, table in writes]
        actor.write(changes, notifications.commit_txn(txn.id, pairs, actor.release), *more)


def abort(actor: Actor, txn: Transaction) -> None:
    """Aborts the transaction; the metadata that it altered stays altered."""
    with actor.catalog.hold_again(txn.tables):
        pairs = [(table.database.name, write_id) for write_id, table in txn.write_ids()]
        actor.write([_state(txn, "a")], notifications.abort_txn(txn.id, pairs, actor.release))


def abort_by_conflict(actor: Actor, txn: Transaction) -> None:
    """Aborts the transaction for a write conflict at its commit; the log has no event of this."""
    with actor.catalog.hold_again(txn.tables):
        actor.write([_state(txn, "a")])


def _state(txn: Transaction, state: str) -> Update:
    return Update("TXNS", ("TXN_ID",), [{"TXN_ID": txn.id, "TXN_STATE": state}])


WRITE_ID_TABLES = (
    ("TXN_TO_WRITE_ID", "T2W_DATABASE", "T2W_TABLE"),
    ("NEXT_WRITE_ID", "NWI_DATABASE", "NWI_TABLE"),
    ("TXN_COMPONENTS", "TC_DATABASE", "TC_TABLE"),
    ("COMPLETED_TXN_COMPONENTS", "CTC_DATABASE", "CTC_TABLE"),
)


def forget_write_ids(table: Table) -> list[Change]:
    """Deletes the write ids of a dropped managed table; the next table of its name begins at 1."""
    table.write_ids.clear()
    return [
        Delete(rows, [{database: table.database.name, name: table.name}])
        for rows, database, name in WRITE_ID_TABLES
    ]


def rename_write_ids(table: Table, new_database: Database, new_name: str) -> list[Change]:
    """Moves the write ids of a renamed managed table, open ones included."""
    return [
        Move(
            rows,
            {database: table.database.name, name: table.name},
            {database: new_database.name, name: new_name},
        )
        for rows, database, name in WRITE_ID_TABLES
    ]
