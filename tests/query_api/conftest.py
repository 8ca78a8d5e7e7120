from collections.abc import Callable

import pytest

from tests.query_api.folded_world import World, world

DATABASES = ["new_database", pytest.param("new_mariadb_database", marks=pytest.mark.mariadb)]


@pytest.fixture(scope="session", params=DATABASES)
def a_new_database(request: pytest.FixtureRequest) -> Callable[[], str]:
    """Makes an empty database of each kind that a metastore may have."""
    made: Callable[[], str] = request.getfixturevalue(request.param)
    return made


@pytest.fixture(scope="session")
def small_world(a_new_database: Callable[[], str]) -> World:
    """A few hundred events in three shards; tests read it only."""
    return world(a_new_database(), events=600, shards=3)
