"""Chooses the tests that use services which containers can be: `pytest --services=all` or `=quick`.

What a test needs is what its fixtures say, so no list of tests is kept.
"""

from typing import Final

import pytest

FIXTURES: Final = frozenset(
    {"kafka_broker", "postgres_server", "new_mariadb_database", "new_stock_database"}
)
"""Each has a server of its own; further fixtures make databases and topics there."""
SLOW: Final = frozenset({"hive", "spark", "trino", "chromium", "logins", "systemd", "helm"})
"""Marks of tests that wait for something else than the services."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--services",
        choices=("all", "quick"),
        help="only tests that use a broker or a database which containers can be; "
        "quick: without those that start Hive, Spark and other large parts",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = config.getoption("--services")
    if chosen is None:
        return
    kept = [item for item in items if _fits(item, quick=chosen == "quick")]
    config.hook.pytest_deselected(items=[item for item in items if item not in set(kept)])
    items[:] = kept


def _fits(item: pytest.Item, *, quick: bool) -> bool:
    marks = {mark.name for mark in item.iter_markers()}
    if marks & {"torture", "containers"} or (quick and marks & SLOW):
        return False
    return not FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))
