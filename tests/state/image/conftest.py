"""A store, and images at two kinds of places."""

from collections.abc import Iterator
from pathlib import Path

import fsspec
import pytest

from state.image import Images
from state.store import Store
from state.store.families import SHARD_FAMILIES
from tests.state.image.places import BUDGET, IDENTITY, Place, fold


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store", IDENTITY, families=SHARD_FAMILIES, budget=BUDGET) as store:
        fold(store, 1, 500)
        yield store


@pytest.fixture(params=["directory", "object store"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Place]:
    if request.param == "directory":
        yield Place(str(tmp_path / "images"))
    else:
        yield Place("memory://images")
        fsspec.filesystem("memory").store.clear()


@pytest.fixture
def images(place: Place) -> Images:
    return Images(place.url, BUDGET)


@pytest.fixture
def others(place: Place) -> Images:
    """Another maker at the same place."""
    return Images(place.url, BUDGET)
