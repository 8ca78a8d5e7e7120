"""The client's view against what the log tells."""

from collections.abc import Callable

import pytest
from sqlalchemy import select

from hive.write_ids.lists import WriteIdList
from metatide.demo.store import Store
from tests.metatide.demo import workload_runs
from tests.metatide.demo.client_view import ClientView, client_view
from tests.metatide.demo.event_model import EventModel

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="demo")]


def view(store: Store, database: str, table: str, txn_id: int | None = None) -> ClientView:
    return client_view(store.engine, store.metadata, database, table, txn_id)


def committed(ids: WriteIdList, up_to: int) -> set[int]:
    return {write_id for write_id in range(1, up_to + 1) if ids.is_valid(write_id)}


def test_a_client_sees_the_write_ids_that_were_committed(
    new_metastore_database: Callable[[], str],
) -> None:
    store = Store(new_metastore_database())
    workload_runs.write(store, 2_500)
    model = EventModel(workload_runs.log(store))
    count = 0
    for (database, name), ids in model.write_ids.items():
        seen_view = view(store, database, name)
        expected = {w for txn, w in ids.items() if model.transactions[txn] == "c"}
        assert committed(seen_view.write_ids, len(ids)) == expected
        assert seen_view.table_id == int(model.tables[database, name].struct["25"])
        assert seen_view.write_ids.table == f"{database}.{name}"
        count += len(expected)
    assert count > 100


def test_a_transaction_sees_its_own_writes_and_none_that_began_later(
    new_metastore_database: Callable[[], str],
) -> None:
    store = Store(new_metastore_database())
    workload_runs.write(store, 2_500)
    model = EventModel(workload_runs.log(store))
    checked = 0
    for (database, name), ids in model.write_ids.items():
        for txn, write_id in ids.items():
            seen_view = view(store, database, name, txn)
            assert seen_view.txns.hwm <= txn
            if model.transactions[txn] != "a":
                assert seen_view.txns.is_valid(txn)
                assert seen_view.write_ids.is_valid(write_id)
            later = [other for id_, other in ids.items() if id_ > txn]
            assert not any(seen_view.write_ids.is_valid(other) for other in later)
            checked += 1
        if checked > 60:
            break
    assert checked > 60


def test_a_table_that_isnt_there_has_an_empty_list_and_no_id(
    new_metastore_database: Callable[[], str],
) -> None:
    store = Store(new_metastore_database())
    found = view(store, "nowhere", "nothing")
    assert (found.write_ids.hwm, found.table_id) == (0, None)
    with store.engine.connect() as connection:
        assert connection.scalar(select(store.metadata.tables["TXNS"].c.TXN_ID)) == 0
