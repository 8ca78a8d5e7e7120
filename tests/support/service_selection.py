"""Chooses the tests that use services which containers can be: `pytest --services=all` or `=quick`.

What a test needs is what its fixtures say, so no list of tests is kept.
"""

from pathlib import Path
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
        help="only tests that use a broker or a database which containers can be; quick: of each "
        "file the first for each kind of server, without those that start Hive, Spark and "
        "other large parts",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = config.getoption("--services")
    if chosen is None:
        return
    selected: dict[pytest.Item, None] = {}
    covered = set[tuple[Path, frozenset[str]]]()
    for item in items:
        servers = FIXTURES.intersection(getattr(item, "fixturenames", ()))
        marks = {mark.name for mark in item.iter_markers()}
        if not servers or marks & {"torture", "containers"}:
            continue
        if chosen == "quick" and (marks & SLOW or (item.path, servers) in covered):
            continue
        covered.add((item.path, servers))
        selected[item] = None
    config.hook.pytest_deselected(items=[item for item in items if item not in selected])
    items[:] = selected
