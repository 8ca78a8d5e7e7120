import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.write_ids.lists import LONG_MAX, WriteIdList, write_id_list
from hive.write_ids.snapshot import (
    TxnRow,
    TxnState,
    WriteIdRow,
    open_txns,
    valid_write_ids,
)
from tests.model.valid_txns import valid_txns

OLD, YOUNG = 5000, 10
OPEN, ABORTED, COMMITTED = TxnState


def test_open_and_aborted_transactions_are_listed() -> None:
    rows = [
        TxnRow(4, ABORTED, OLD),
        TxnRow(0, COMMITTED, OLD),
        TxnRow(2, OPEN, OLD),
        TxnRow(5, COMMITTED, OLD),
    ]
    assert open_txns(rows) == write_id_list(5, [2], [4])
    assert open_txns([]) == write_id_list(0)


def test_a_hole_below_a_young_row_counts_as_open_and_an_old_hole_does_not() -> None:
    assert open_txns([TxnRow(2, COMMITTED, OLD), TxnRow(5, COMMITTED, YOUNG)]) == write_id_list(
        5, [3, 4]
    )
    assert open_txns([TxnRow(2, COMMITTED, OLD), TxnRow(5, COMMITTED, OLD)]) == write_id_list(5)


def test_read_only_transactions_can_be_left_out() -> None:
    rows = [TxnRow(1, OPEN, OLD, read_only=True), TxnRow(2, OPEN, OLD)]
    assert open_txns(rows) == write_id_list(2, [1, 2])
    assert open_txns(rows, with_read_only=False) == write_id_list(2, [2])


def test_a_reader_sees_what_began_before_it_and_its_own_writes() -> None:
    txns = write_id_list(9, [3, 6, 8], [2, 7])
    assert valid_txns(txns, 6) == write_id_list(6, [3], [2])
    assert valid_txns(txns, 20) == txns


@pytest.mark.parametrize(
    ("next_write_id", "hwm"), [(None, 0), (1, 0), (8, 7)], ids=["unknown", "none", "cleaned"]
)
def test_a_table_without_rows(next_write_id: int | None, hwm: int) -> None:
    assert valid_write_ids(write_id_list(9), [], next_write_id, "d.t") == write_id_list(
        hwm, table="d.t"
    )


def test_write_ids_take_the_state_of_their_transactions() -> None:
    txns = write_id_list(20, [12, 14], [13])
    rows = [WriteIdRow(11, 1), WriteIdRow(13, 3), WriteIdRow(12, 2), WriteIdRow(21, 4)]
    assert valid_write_ids(txns, rows, 5, "d.t") == write_id_list(3, [2], [3], "d.t")


def test_a_list_without_committed_rows_ends_at_the_first_invalid_id() -> None:
    txns = write_id_list(20, [12, 14], [13])
    rows = [WriteIdRow(12, 7), WriteIdRow(13, 8), WriteIdRow(14, 9)]
    assert valid_write_ids(txns, rows, 10, None) == write_id_list(7, [7])
    assert valid_write_ids(txns, rows[1:], 10, None) == WriteIdList(
        8, aborted=write_id_list(8, [8]).open, min_open=9
    )
    assert valid_write_ids(txns, rows[1:2], 10, None) == WriteIdList(
        8, aborted=write_id_list(8, [8]).open, min_open=LONG_MAX
    )


STATES = st.sampled_from(TxnState)


@given(st.lists(st.tuples(STATES, st.booleans()), max_size=12), st.integers(1, 14))
def test_a_snapshot_contains_exactly_what_committed_before(
    txns: list[tuple[TxnState, bool]], reader: int
) -> None:
    rows = [TxnRow(txn, state, OLD) for txn, (state, _) in enumerate(txns, start=1)]
    writers = [txn for txn, (_, writes) in enumerate(txns, start=1) if writes]
    ids = [WriteIdRow(txn, write_id) for write_id, txn in enumerate(writers, start=1)]
    snapshot = valid_txns(open_txns(rows), reader)
    ids_seen = valid_write_ids(snapshot, ids, len(ids) + 1, "d.t")
    visible = {
        row.write_id
        for row in ids
        if row.txn == reader or (row.txn < reader and txns[row.txn - 1][0] is COMMITTED)
    }
    assert {row.write_id for row in ids if ids_seen.is_valid(row.write_id)} == visible
