"""How long a statement may take, in the words of each database."""

from typing import Any

import sqlalchemy as sa


def set_timeout(connection: sa.Connection, limit_ms: int) -> None:
    """Another limit than the engine's, for this connection."""
    driver = connection.connection.dbapi_connection
    connection.exec_driver_sql(timeout_statement(connection.dialect.name, driver, limit_ms))


def timeout_statement(kind: str, connection: Any, limit_ms: int) -> str:
    """`connection` is the driver's own: MariaDB and MySQL differ, and only it tells them apart."""
    if kind == "postgresql":
        return f"SET statement_timeout = {limit_ms}"
    if "MariaDB" in connection.get_server_info():
        return f"SET max_statement_time = {limit_ms / 1000}"
    return f"SET max_execution_time = {limit_ms}"
