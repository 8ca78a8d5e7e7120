"""The workload on MariaDB."""

from collections.abc import Callable

import pytest

from metatide.demo.bulk import fill
from metatide.demo.options import Size
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload
from tests.metatide.demo import deadlocks, workload_runs
from tests.metatide.demo.row_checks import check
from tests.metatide.demo.row_model import RowModel

pytestmark = [pytest.mark.mariadb, pytest.mark.by_turns(2, of="demo")]


def test_rows_are_what_the_events_of_four_writers_tell(
    new_mariadb_database: Callable[[], str],
) -> None:
    store = Store(new_mariadb_database())
    workload_runs.write(store, 1_500, writers=4)
    ids = [row.EVENT_ID for row in workload_runs.rows(store)]
    assert ids == list(range(1, len(ids) + 1))
    check(store)


def test_a_fill_writes_all_partitions(new_mariadb_database: Callable[[], str]) -> None:
    store = Store(new_mariadb_database())
    size = Size(tables=50, partitions=3_000)
    *_, written = fill(Workload(store.ids, store.session, store.schema, size, Style()))
    assert written == 3_000
    assert sum(map(len, RowModel(store).partitions.values())) == 3_000


def test_a_deadlock_costs_nothing(new_mariadb_database: Callable[[], str]) -> None:
    deadlocks.check_that_it_is_begun_anew(Store(new_mariadb_database()))
