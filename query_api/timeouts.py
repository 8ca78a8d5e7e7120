"""The time limit of a statement, in the syntax of each database, and that of a server's end."""

from typing import Any, Final

import sqlalchemy as sa

FINISH_S_MAX: Final = 5
"""The time limit for requests that have begun when a server is to end."""


def set_timeout(connection: sa.Connection, limit_ms: int) -> None:
    """Sets a limit for this connection that differs from the engine's."""
    driver = connection.connection.dbapi_connection
    connection.exec_driver_sql(timeout_statement(connection.dialect.name, driver, limit_ms))


def timeout_statement(kind: str, connection: Any, limit_ms: int) -> str:
    """The statement that sets the limit. `connection` is the driver's: only that can tell MariaDB
    from MySQL.
    """
    if kind == "postgresql":
        return f"SET statement_timeout = {limit_ms}"
    if "MariaDB" in connection.get_server_info():
        return f"SET max_statement_time = {limit_ms / 1000}"
    return f"SET max_execution_time = {limit_ms}"
