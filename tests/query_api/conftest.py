from collections.abc import Callable

import pytest

from tests.query_api.folded import World, world


@pytest.fixture(scope="session")
def small_world(new_database: Callable[[], str]) -> World:
    """A few hundred events in three shards; tests read it only."""
    return world(new_database(), events=600, shards=3)
