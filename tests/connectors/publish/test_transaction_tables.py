"""The end of a transaction reaches every table in which it has write ids."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from connectors.publish import transaction_tables
from connectors.publish.routing import route
from connectors.publish.transaction_tables import TransactionTables
from connectors.publish.translate import EVERYWHERE, Addressed, translate
from hive.events import event_types
from hive.events.decode import decode
from hive.events.row import row_from_json
from hive.names import TableName, table_name
from processors.fold import Fold
from state.export import export
from state.records import Change
from state.shard_reader import ShardReader
from state.store import MemoryStore
from tests.connectors.publish.events import (
    aborted,
    allocated,
    alter,
    committed,
    opened,
    rename,
    unknown,
)

DATA = Path(__file__).parents[2] / "data" / "hive-4.2.0"
A, B, C = TABLES = [table_name(None, "db", name) for name in "abc"]


def after(*events: event_types.Event) -> list[Addressed]:
    """To whom the last one of some events is addressed."""
    transactions = TransactionTables()
    addressed: list[Addressed] = []
    for event in events:
        addressed = transactions.address(event, translate(event))
    return addressed


@pytest.mark.parametrize("end", [committed(9, 5), aborted(9, 5)])
def test_an_end_is_addressed_to_the_tables_of_the_transaction(end: event_types.Event) -> None:
    [(everywhere, action)] = translate(end)
    assert everywhere == EVERYWHERE
    begun = opened(1, 5, 6)
    assert after(end) == [(EVERYWHERE, action)], "nobody saw it begin"
    assert after(allocated(1, 5, A), end) == [(EVERYWHERE, action)]
    assert after(begun, end) == [], "it wrote nothing"
    twice = (allocated(2, 5, A), allocated(3, 6, C), allocated(4, 5, B), allocated(5, 5, A))
    assert after(begun, *twice, end) == [(A, action), (B, action)]
    assert after(begun, allocated(2, 5, A), end, end) == [(EVERYWHERE, action)]


def test_an_event_that_is_told_twice_loses_no_table() -> None:
    [*_, (_, action)] = translate(committed(9, 5))
    told = opened(1, 5, 5), allocated(2, 5, A), opened(1, 5, 5)
    assert after(*told, committed(9, 5)) == [(A, action)]


@pytest.mark.parametrize("between", [rename(3, A, B), unknown(3, harmless=False)])
def test_what_may_hide_a_write_id_makes_all_unknown(between: event_types.Event) -> None:
    end = committed(9, 5)
    assert after(opened(1, 5, 5), allocated(2, 5, A), between, end) == translate(end)


@pytest.mark.parametrize("between", [alter(3, A), unknown(3, harmless=True)])
def test_other_events_make_nothing_unknown(between: event_types.Event) -> None:
    [(_, action)] = translate(committed(9, 5))
    known = after(opened(1, 5, 5), allocated(2, 5, A), between, committed(9, 5))
    assert known == [(A, action)]


def test_many_open_transactions_take_bounded_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transaction_tables, "TRACKED_MAX", 10)
    monkeypatch.setattr(transaction_tables, "RANGE_MAX", 8)
    transactions = TransactionTables()

    def address(event: event_types.Event) -> list[Addressed]:
        return transactions.address(event, translate(event))

    address(opened(1, 1, 8))
    address(opened(2, 9, 12))
    assert len(transactions._tables) == 10
    assert address(committed(3, 2)) == translate(committed(3, 2))
    assert address(committed(4, 3)) == []
    address(opened(5, 100, 110))
    assert address(committed(6, 105)) == translate(committed(6, 105))


TXNS = st.integers(0, 1)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("open"), TXNS),
        st.tuples(st.just("allocate"), TXNS, st.sampled_from(TABLES)),
        st.tuples(st.just("end"), TXNS, st.booleans()),
        st.sampled_from([("rename", A, B), ("rename", B, C), ("begin anew",)]),
    ),
    min_size=4,
    max_size=20,
)


@given(STEPS)
@example([("open", 0), ("allocate", 0, A), ("rename", A, B), ("end", 0, True)])
@example([("open", 0), ("allocate", 0, A), ("begin anew",), ("end", 0, True)])
def test_a_table_with_write_ids_of_a_transaction_learns_of_its_end(
    steps: list[tuple[object, ...]],
) -> None:
    """Connectors begin anywhere in the log; renamed tables keep their write ids."""
    transactions = TransactionTables()
    begun: set[int] = set()
    ended: set[int] = set()
    holding: dict[int, set[TableName]] = {}
    for event_id, step in enumerate(steps):
        match step:
            case ("open", int(txn)) if txn not in begun:
                begun.add(txn)
                holding[txn] = set()
                event: event_types.Event = opened(event_id, txn, txn)
            case ("allocate", int(txn), TableName() as table) if txn in begun - ended:
                holding[txn].add(table)
                event = allocated(event_id, txn, table)
            case ("end", int(txn), commits) if txn in begun - ended:
                ended.add(txn)
                event = committed(event_id, txn) if commits else aborted(event_id, txn)
                addressees = {to for to, _ in transactions.address(event, translate(event))}
                assert EVERYWHERE in addressees or addressees >= holding.pop(txn)
                continue
            case ("rename", TableName() as old, TableName() as new):
                for tables in holding.values():
                    if old in tables:
                        tables.remove(old)
                        tables.add(new)
                event = rename(event_id, old, new)
            case ("begin anew",):
                transactions = TransactionTables()
                continue
            case _:
                continue
        transactions.address(event, translate(event))


def valid_write_ids(log: str, shards: int, *, tracks: bool) -> tuple[dict[str, str], int]:
    """What all shards know of write ids, and how many records they were sent."""
    transactions, record_count = TransactionTables(), 0
    views = [MemoryStore().transaction() for _ in range(shards)]
    folds = [Fold(view) for view in views]
    for line in (DATA / log / "log.jsonl").read_text().splitlines():
        row = row_from_json(line)
        event = decode(row)
        addressed = translate(event)
        if tracks:
            addressed = transactions.address(event, addressed)
        for shard, actions in route(addressed, shards).items():
            record_count += 1
            folds[shard].apply(Change(0, folds[shard].applied, row.event_id, actions))
    write_ids: dict[str, str] = {}
    for fold, view in zip(folds, views, strict=True):
        fold.flush()
        write_ids |= export(ShardReader(view))["valid_write_ids"]
    return write_ids, record_count


@pytest.mark.parametrize("log", ["every-event-json", "four-writers", "one-writer"])
def test_shards_know_the_write_ids_of_real_logs_by_fewer_records(log: str) -> None:
    write_ids, few = valid_write_ids(log, 12, tracks=True)
    write_ids_by_all, many = valid_write_ids(log, 12, tracks=False)
    assert write_ids == write_ids_by_all
    assert write_ids
    assert few < many
