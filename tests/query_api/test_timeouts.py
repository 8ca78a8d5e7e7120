"""The limit of a statement, as each database takes it."""

from types import SimpleNamespace

import pytest

from query_api.timeouts import timeout_statement


@pytest.mark.parametrize(
    ("kind", "version", "statement"),
    [
        ("postgresql", "", "SET statement_timeout = 1500"),
        ("mysql", "10.11.6-MariaDB-0+deb12u1", "SET max_statement_time = 1.5"),
        ("mysql", "8.0.36", "SET max_execution_time = 1500"),
    ],
)
def test_each_database_has_a_statement_and_a_unit_of_its_own(
    kind: str, version: str, statement: str
) -> None:
    driver = SimpleNamespace(get_server_info=lambda: version)
    assert timeout_statement(kind, driver, 1500) == statement
