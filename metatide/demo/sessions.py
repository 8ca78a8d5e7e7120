"""Connections to the metastore's database, used as the metastore's server threads use them."""

from collections.abc import Sequence
from typing import Final, Protocol

from sqlalchemy import (
    BigInteger,
    BindParameter,
    Engine,
    MetaData,
    bindparam,
    insert,
    select,
    update,
)

from hive.errors import DeadlockError
from metatide.demo.changes import Change, Compiler, Insert, Row
from metatide.demo.drivers import BEGIN, COMMIT, NONE, Statement, connect
from metatide.demo.ids import sequence_name
from metatide.demo.records import Record

# The metastore's TxnHandler retries a transaction this often after deadlocks.
_TRIES: Final = 10


class Sink(Protocol):
    """The destination of a writer's changes and records."""

    def open_transactions(self, count: int, now_ms: int) -> list[int]:
        """Opens transactions and returns their ids; their rows are written with the next write."""

    def write(self, changes: Sequence[Change], records: Sequence[Record]) -> None:
        """Writes changes and records in one database transaction."""

    def close(self) -> None:
        """Closes the sink; nothing may be written afterwards."""


def reserve_ids(engine: Engine, metadata: MetaData, table: str, count: int) -> int:
    """Reserves ids of a table in SEQUENCE_TABLE; returns the first of them."""
    sequences = metadata.tables["SEQUENCE_TABLE"]
    name = sequence_name(table)
    with engine.begin() as connection:
        query = select(sequences.c.NEXT_VAL).where(sequences.c.SEQUENCE_NAME == name)
        first = connection.scalar(query.with_for_update())
        if first is None:
            connection.execute(insert(sequences).values(SEQUENCE_NAME=name, NEXT_VAL=1 + count))
            return 1
        connection.execute(
            update(sequences)
            .where(sequences.c.SEQUENCE_NAME == name)
            .values(NEXT_VAL=first + count)
        )
        return int(first)


class WriterSession:
    """One connection, used as a thread of the metastore uses its own."""

    def __init__(self, engine: Engine, metadata: MetaData) -> None:
        self._driver = connect(engine)
        self._compiler = Compiler(metadata, engine.dialect)
        self._opened: list[Row] = []
        log, sequence = (
            metadata.tables["NOTIFICATION_LOG"],
            metadata.tables["NOTIFICATION_SEQUENCE"],
        )
        next_id = sequence.c.NEXT_EVENT_ID
        # The statements compute the event ids in the database: fetching the last id first would
        # hold the lock, for which all writers wait, several times as long.
        fields: dict[str, BindParameter[object]] = {
            name: bindparam(name) for name in Record._fields
        }
        event_id = select(next_id).scalar_subquery() + bindparam("offset", type_=BigInteger())
        counted = next_id + bindparam("count", type_=BigInteger())
        self._lock, self._log, self._advance = (
            str(statement.compile(dialect=engine.dialect))
            for statement in (
                select(next_id).with_for_update(),
                insert(log).values(EVENT_ID=event_id, **fields).inline(),
                update(sequence).values(NEXT_EVENT_ID=counted),
            )
        )

    def open_transactions(self, count: int, now_ms: int) -> list[int]:
        """Opens transactions; their rows in TXNS are committed with the next write."""
        assert not self._opened
        row = {
            "TXN_STATE": "o",
            "TXN_STARTED": now_ms,
            "TXN_LAST_HEARTBEAT": now_ms,
            "TXN_USER": "hive",
            "TXN_HOST": "demo",
            "TXN_TYPE": 0,
        }
        insertion = [self._compiler.compile(Insert("TXNS", [row])), self._driver.last_id]
        ids = self._driver.run([BEGIN, *insertion * count])
        self._opened = [{"TXN_ID": txn_id, **row} for txn_id in ids]
        return ids

    def write(self, changes: Sequence[Change], records: Sequence[Record]) -> None:
        """Writes the changes, then locks the sequence, writes the records, and commits.

        Retries if the database ends the transaction because of a deadlock, as the metastore does.
        """
        statements = [self._compiler.compile(change) for change in changes]
        if records:
            rows = [{"offset": n, **each._asdict()} for n, each in enumerate(records)]
            statements += [
                (self._lock, NONE),
                (self._log, rows),
                (self._advance, [{"count": len(records)}]),
            ]
        opened, self._opened = self._opened, []
        begin: list[Statement] = [] if opened else [BEGIN]
        tries = 0
        while True:
            try:
                self._driver.run([*begin, *statements, COMMIT])
                return
            except DeadlockError:
                tries += 1
                if tries == _TRIES:
                    raise
                # The caller already has these transactions' ids, so their rows are inserted again
                # as they were.
                again = [self._compiler.compile(Insert("TXNS", opened))] if opened else []
                begin = [BEGIN, *again]

    def close(self) -> None:
        """Closes the connection; what was not committed is rolled back."""
        self._driver.close()
