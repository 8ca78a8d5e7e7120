"""That a run holds what makes life hard for a cache."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import pairwise

import pytest

from metatide.demo.store import Store
from tests.metatide.demo import workload_runs
from tests.metatide.demo.row_model import RowModel
from tests.metatide.demo.workload_runs import Event

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="demo")]


@pytest.fixture(scope="module")
def store(new_metastore_database: Callable[[], str]) -> Store:
    store = Store(new_metastore_database())
    workload_runs.write(store, 4_000)
    return store


@pytest.fixture(scope="module")
def events(store: Store) -> list[Event]:
    return workload_runs.log(store)


def of_type(events: Sequence[Event], type_: str) -> list[Event]:
    return [event for event in events if event.type == type_]


def test_tables_are_made_again_under_the_name_of_one_that_is_gone(events: list[Event]) -> None:
    names = Counter((e.database, e.table) for e in of_type(events, "CREATE_TABLE"))
    assert max(names.values()) > 1


def test_write_ids_begin_again(events: list[Event]) -> None:
    first = Counter(
        (event.database, event.table)
        for event in of_type(events, "ALLOC_WRITE_ID_EVENT")
        if event.message["writeIdList"][0] == 1
    )
    assert max(first.values()) > 1


def test_renames_stay_in_a_database_and_leave_it(events: list[Event]) -> None:
    renames = [
        event.database == event.message["db"]
        for event in of_type(events, "ALTER_TABLE")
        if (event.database, event.table) != (event.message["db"], event.message["table"])
    ]
    assert set(renames) == {True, False}


@pytest.mark.parametrize("type_", ["ALTER_TABLE", "ALTER_PARTITION"])
def test_tables_and_partitions_are_truncated(events: list[Event], type_: str) -> None:
    assert {e.message["isTruncateOp"] for e in of_type(events, type_)} == {"true", "false"}


def test_partitions_come_singly_and_in_bulk(events: list[Event]) -> None:
    sizes = {len(event.message["partitions"]) for event in of_type(events, "ADD_PARTITION")}
    assert {1, 2} < sizes


def test_partitions_are_exchanged(events: list[Event]) -> None:
    exchanged = [
        added
        for added, dropped in pairwise(events)
        if (added.type, dropped.type) == ("ADD_PARTITION", "DROP_PARTITION")
        and added.message["partitions"][:1] == dropped.message["partitions"]
        and added.table != dropped.table
    ]
    assert exchanged


def test_cascade_brings_new_columns_to_partitions_without_a_word(store: Store) -> None:
    stored = RowModel(store)
    altered = [name for name, table in stored.tables.items() if len(columns_of(stored, name)) > 1]
    followed = [
        name
        for name, table in stored.tables.items()
        if any(column["1"].startswith("added_") for column in table["7"]["1"])
        and str(table["7"]["1"]) in columns_of(stored, name)
    ]
    assert altered
    assert followed


def columns_of(kept: RowModel, name: tuple[str, str]) -> set[str]:
    partitions = kept.partitions[name].values()
    own = str(kept.tables[name]["7"]["1"])
    return {str(each["6"]["1"]) for each in partitions} | ({own} if not partitions else set())


def test_transactions_run_at_the_same_time(events: list[Event]) -> None:
    open_now: set[int] = set()
    most = 0
    for event in events:
        if event.type == "OPEN_TXN":
            message = event.message
            open_now |= set(range(message["fromTxnId"], message["toTxnId"] + 1))
        elif event.type in ("COMMIT_TXN", "ABORT_TXN"):
            open_now.remove(event.message["txnid"])
        most = max(most, len(open_now))
    assert most > 5
