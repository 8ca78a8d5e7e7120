"""Reads the sequence of events at the least cost to this process, many times a second."""

from collections.abc import Callable
from typing import Any, Final

import psycopg
import sqlalchemy as sa
from psycopg.pq import ExecStatus

_STATEMENT: Final = b"metatide_sequence"


class SequenceReader:
    """Reads one number over a connection that is in autocommit.

    What SQLAlchemy and the driver's cursors do for each statement costs several times as much as
    the statement. So this reader bypasses them; whatever goes wrong is left to the next statement
    that doesn't.
    """

    def __init__(self, connection: sa.Connection, statement: sa.Select[Any]) -> None:
        text = str(statement.compile(connection.engine))
        driver = connection.connection.driver_connection
        if isinstance(driver, psycopg.Connection):
            self._read = _by_libpq(driver, text.encode())
        else:
            self._read = _by_cursor(connection, text)

    def read(self) -> int | None:
        """The number; None if it can't be read."""
        return self._read()


def _by_libpq(driver: psycopg.Connection[Any], text: bytes) -> Callable[[], int | None]:
    is_prepared = False

    def read() -> int | None:
        nonlocal is_prepared
        connection = driver.pgconn
        try:
            if not is_prepared:
                connection.prepare(_STATEMENT, text)
            result = connection.exec_prepared(_STATEMENT, [])
        except psycopg.Error:
            return None
        is_prepared = result.status == ExecStatus.TUPLES_OK
        value = result.get_value(0, 0) if is_prepared else None
        return None if value is None else int(value)

    return read


def _by_cursor(connection: sa.Connection, text: str) -> Callable[[], int | None]:
    cursor = connection.connection.cursor()
    dbapi = connection.dialect.dbapi
    assert dbapi is not None
    fault = dbapi.Error

    def read() -> int | None:
        try:
            cursor.execute(text)
            [value] = cursor.fetchone() or [None]
        except fault:
            return None
        return None if value is None else int(value)

    return read
