"""Sends statements to each kind of database, in as few messages as the driver allows."""

from collections.abc import Sequence
from typing import Any, Protocol

import psycopg
import pymysql
from psycopg.errors import DeadlockDetected
from pymysql.constants.ER import LOCK_DEADLOCK
from sqlalchemy import Engine

from hive.errors import DeadlockError
from metatide.demo.changes import Row

Statement = tuple[str, Sequence[Row]]
"""The text of a statement, and the parameters of each execution."""

NONE: Sequence[Row] = ({},)
BEGIN: Statement = ("BEGIN", NONE)
COMMIT: Statement = ("COMMIT", NONE)


class Driver(Protocol):
    """A connection; transactions begin and end by statements."""

    last_id: Statement
    """Asks for the id that the database gave to the row inserted last."""

    def run(self, statements: Sequence[Statement]) -> list[int]:
        """Executes statements in order; returns the first column of all rows.

        Raises `DeadlockError` if the database rolled back the transaction.
        """

    def close(self) -> None:
        """Closes the connection; what was not committed is rolled back."""


class Postgres:
    """Sends all statements at once, with the values in the text: two messages per event."""

    last_id: Statement = ("SELECT lastval()", NONE)

    def __init__(self, connection: psycopg.Connection[Any]) -> None:
        connection.autocommit = True
        self._connection = connection
        self._cursor = psycopg.ClientCursor(connection)

    def run(self, statements: Sequence[Statement]) -> list[int]:
        cursor = self._cursor
        texts = (cursor.mogrify(text, row) for text, rows in statements for row in rows)
        try:
            cursor.execute(";".join(texts))
        except DeadlockDetected as error:
            cursor.execute("ROLLBACK")
            raise DeadlockError(str(error)) from error
        first_values: list[int] = []
        more: bool | None = True
        while more:
            if cursor.description:
                first_values += (row[0] for row in cursor)
            more = cursor.nextset()
        return first_values

    def close(self) -> None:
        self._connection.close()


class MySql:
    """Sends one statement after another, with many rows per insertion."""

    last_id: Statement = ("SELECT LAST_INSERT_ID()", NONE)

    def __init__(self, connection: Any) -> None:
        self._connection = connection
        self._cursor = connection.cursor()
        # The metastore uses this level, too; it is PostgreSQL's default.
        self._cursor.execute("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")

    def run(self, statements: Sequence[Statement]) -> list[int]:
        first_values: list[int] = []
        for text, rows in statements:
            try:
                self._cursor.executemany(text, rows)
            except pymysql.OperationalError as error:
                if error.args[0] == LOCK_DEADLOCK:
                    raise DeadlockError(str(error)) from error
                raise
            if self._cursor.description:
                first_values += (row[0] for row in self._cursor)
        return first_values

    def close(self) -> None:
        self._connection.close()


def connect(engine: Engine) -> Driver:
    """A new connection, owned by the caller."""
    proxy = engine.raw_connection()
    connection: Any = proxy.driver_connection
    proxy.detach()
    return Postgres(connection) if isinstance(connection, psycopg.Connection) else MySql(connection)
