"""The metastores and databases that Metatide is tested with; docs/support.md lists them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest

from hive.reader.engines import unpooled_engine
from hive.schema import Version
from tests.support.hive import source as hive_source
from tests.support.hive.metastore import Instances, metastores
from tests.support.hive.releases import NEWEST, RELEASES


class Row(NamedTuple):
    """A release of Hive on a database."""

    release: str
    database: str

    def __str__(self) -> str:
        return f"{self.release} on {self.database}"


_FIXTURES = {
    "PostgreSQL 15": "new_stock_database",
    "PostgreSQL 18": "new_database",
    "MariaDB": "new_mariadb_database",
}
_MARKS = {
    "PostgreSQL 15": [pytest.mark.stock],
    "PostgreSQL 18": [],
    "MariaDB": [pytest.mark.mariadb],
}
ROWS = tuple(Row(release, database) for release in RELEASES for database in _FIXTURES)
OFTEN = {
    *(Row(NEWEST, database) for database in _FIXTURES),
    Row("4.1.0", "PostgreSQL 15"),
    Row("4.0.1", "MariaDB"),
    Row("3.1.3", "PostgreSQL 18"),
}
"""The rows of every full test run; the others belong to the long runs."""
FOLLOWED = tuple(row for row in ROWS if RELEASES[row.release].schema >= Version.V4_0)
"""The rows whose log Metatide can follow; it refuses the others."""


def parameters(rows: Iterable[Row]) -> list[Any]:
    """The rows as parameters of pytest, with the marks that they need."""
    return [
        pytest.param(
            row,
            id=str(row),
            marks=[
                pytest.mark.hive,
                *_MARKS[row.database],
                *([] if row in OFTEN else [pytest.mark.torture]),
            ],
        )
        for row in rows
    ]


@contextmanager
def running(
    request: pytest.FixtureRequest,
    row: Row,
    instances: int = 2,
    properties: Mapping[str, str] | None = None,
) -> Iterator[Instances]:
    """Metastores of this row. The schema is made by Hive's own script, if that is published."""
    new_database: Callable[[], str] = request.getfixturevalue(_FIXTURES[row.database])
    url = new_database()
    version = RELEASES[row.release].schema
    if version < Version.V4_1:
        engine = unpooled_engine(url)
        hive_source.run_script(engine, version.release)
        engine.dispose()
    with metastores(new_database) as start:
        yield start(instances, database=url, release=row.release, properties=properties)
