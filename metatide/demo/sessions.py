"""Connections to the metastore's database, used as the metastore's server threads use theirs."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

import psycopg
from sqlalchemy import Engine, MetaData, insert, select, update

from metatide.demo.changes import Change, Compiler, Insert, Update
from metatide.demo.ids import sequence_name
from metatide.demo.records import Record


class Sink(Protocol):
    """Where a writer's changes and records go."""

    def open_transactions(self, count: int, now_ms: int) -> list[int]:
        """Ids of new transactions; they are there with the next write."""

    def write(self, changes: Sequence[Change], records: Sequence[Record]) -> None:
        """Changes and records in one database transaction."""

    def close(self) -> None:
        """Nothing more will be written."""


def reserve_ids(engine: Engine, metadata: MetaData, table: str, count: int) -> int:
    """The first of so many new ids of a table, counted on in SEQUENCE_TABLE."""
    sequences = metadata.tables["SEQUENCE_TABLE"]
    name = sequence_name(table)
    with engine.begin() as connection:
        found = select(sequences.c.NEXT_VAL).where(sequences.c.SEQUENCE_NAME == name)
        first = connection.scalar(found.with_for_update())
        if first is None:
            connection.execute(insert(sequences).values(SEQUENCE_NAME=name, NEXT_VAL=1 + count))
            return 1
        connection.execute(
            update(sequences)
            .where(sequences.c.SEQUENCE_NAME == name)
            .values(NEXT_VAL=first + count)
        )
        return int(first)


class Session:
    """One connection; with PostgreSQL's driver, what needs no answer is sent in one go."""

    def __init__(self, engine: Engine, metadata: MetaData) -> None:
        self._proxy = engine.raw_connection()
        assert self._proxy.driver_connection is not None
        self._connection: Any = self._proxy.driver_connection
        self._cursor: Any = self._connection.cursor()
        self._pipelined = isinstance(self._connection, psycopg.Connection)
        if not self._pipelined:
            # As the metastore does; PostgreSQL's default is the same.
            self._cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
        self._compiler = Compiler(metadata, engine.dialect)
        sequence = metadata.tables["NOTIFICATION_SEQUENCE"]
        lock = select(sequence.c.NEXT_EVENT_ID).where(sequence.c.NNI_ID == 1).with_for_update()
        literal = {"literal_binds": True}
        self._lock = str(lock.compile(dialect=engine.dialect, compile_kwargs=literal))

    def open_transactions(self, count: int, now_ms: int) -> list[int]:
        """New rows of TXNS, committed with the next write."""
        row = {
            "TXN_STATE": "o",
            "TXN_STARTED": now_ms,
            "TXN_LAST_HEARTBEAT": now_ms,
            "TXN_USER": "hive",
            "TXN_HOST": "demo",
            "TXN_TYPE": 0,
        }
        text, (values,) = self._compiler.compile(Insert("TXNS", [row]))
        ids = []
        for _ in range(count):
            if self._pipelined:
                self._cursor.execute(f'{text} RETURNING "TXN_ID"', values)
                ids.append(int(self._cursor.fetchone()[0]))
            else:
                self._cursor.execute(text, values)
                ids.append(int(self._cursor.lastrowid))
        return ids

    def write(self, changes: Sequence[Change], records: Sequence[Record]) -> None:
        """Changes first, then the lock on the sequence, the records, and the end of both."""
        with self._one_go():
            for change in changes:
                self._execute(change)
            if records:
                self._cursor.execute(self._lock)
        if records:
            first = int(self._cursor.fetchone()[0])
            with self._one_go():
                rows = [{"EVENT_ID": first + n, **r._asdict()} for n, r in enumerate(records)]
                self._execute(Insert("NOTIFICATION_LOG", rows))
                following = {"NNI_ID": 1, "NEXT_EVENT_ID": first + len(records)}
                self._execute(Update("NOTIFICATION_SEQUENCE", ("NNI_ID",), [following]))
                self._connection.commit()
        else:
            self._connection.commit()

    def close(self) -> None:
        """What was not written is undone."""
        self._connection.rollback()
        self._proxy.close()

    def _execute(self, change: Change) -> None:
        text, rows = self._compiler.compile(change)
        if len(rows) == 1:
            self._cursor.execute(text, rows[0])
        else:
            self._cursor.executemany(text, rows)

    @contextmanager
    def _one_go(self) -> Iterator[None]:
        if not self._pipelined:
            yield
            return
        with self._connection.pipeline():
            yield
