"""Chooses the tests that use services which containers can be: `pytest --services=all` or `=quick`.

What a test needs is what its fixtures say, so no list of tests is kept.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from tests.support.checkout import revision
from tests.support.turns import chosen_of

FIXTURES: Final = frozenset(
    {"kafka_broker", "postgres_server", "new_mariadb_database", "new_stock_database"}
)
"""Each has a server of its own; further fixtures make databases and topics there."""
SLOW: Final = frozenset({"hive", "spark", "trino", "chromium", "logins", "systemd", "helm"})
"""Marks of tests that wait for something else than the services."""
_TURNS: Final = 3
"""One in so many files takes its turn at a commit, of those that use the same servers."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--services",
        choices=("all", "quick"),
        help="only tests that use a broker or a database which containers can be; quick: of a "
        "third of the files, by turns, the first for each kind of server, without those that "
        "start Hive, Spark and other large parts",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    chosen = config.getoption("--services")
    if chosen is None:
        return
    using = {
        item: servers
        for item in items
        if (servers := FIXTURES.intersection(getattr(item, "fixturenames", ())))
        and not _marks(item) & {"torture", "containers"}
    }
    selected = set(using if chosen == "all" else _quick(using))
    config.hook.pytest_deselected(items=[item for item in items if item not in selected])
    items[:] = [item for item in items if item in selected]


def _quick(using: Mapping[pytest.Item, frozenset[str]]) -> Iterator[pytest.Item]:
    """The first test of each file that takes its turn, for each kind of server."""
    first: dict[tuple[str, frozenset[str]], pytest.Item] = {}
    files = defaultdict[frozenset[str], set[str]](set)
    for item, servers in using.items():
        if not _marks(item) & SLOW:
            file = item.nodeid.partition("::")[0]
            first.setdefault((file, servers), item)
            files[servers].add(file)
    for servers, names in files.items():
        group = " and ".join(sorted(servers)), _TURNS
        for file in chosen_of(names, group, revision() or ""):
            yield first[file, servers]


def _marks(item: pytest.Item) -> frozenset[str]:
    return frozenset(mark.name for mark in item.iter_markers())
