"""The rows that a run leaves behind are what its events tell."""

from collections.abc import Callable

import pytest

from hive.reader.engines import unpooled_engine
from hive.schema import Version, create
from metatide.demo.options import Release
from metatide.demo.store import Store
from tests.metatide.demo import workload_runs
from tests.metatide.demo.row_checks import check

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="demo")]

EVENTS = 2_500


@pytest.mark.parametrize("seed", [1, 2])
def test_rows_are_what_the_events_of_one_writer_tell(
    new_metastore_database: Callable[[], str], seed: int
) -> None:
    store = Store(new_metastore_database())
    workload_runs.write(store, EVENTS, seed=seed)
    check(store)


def test_rows_are_what_the_events_of_four_writers_tell(
    new_metastore_database: Callable[[], str],
) -> None:
    store = Store(new_metastore_database())
    workload_runs.write(store, EVENTS, writers=4)
    check(store)


def test_rows_are_right_before_4_1_too(new_database: Callable[[], str]) -> None:
    url = new_database()
    create(unpooled_engine(url), Version.V4_0)
    store = Store(url)
    assert store.schema is Version.V4_0
    workload_runs.write(store, EVENTS, writers=2, release=Release.HIVE_4_0)
    check(store)
