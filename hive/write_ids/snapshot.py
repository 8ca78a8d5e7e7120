"""Computes snapshots as a metastore does, from the rows of its transaction tables.

Rows come from one moment of the database, in any order; those of TXN_TO_WRITE_ID and NEXT_WRITE_ID
are the rows of one table.
"""

from collections.abc import Iterable
from enum import Enum
from typing import Generic, NamedTuple, Protocol, TypeVar

from hive.write_ids.ids import Ids
from hive.write_ids.lists import LONG_MAX, WriteIdList, write_id_list
from hive.write_ids.pages import Loaded

OPEN_TXN_TIMEOUT_MS = 1000
"""Default of `metastore.txn.opentxn.timeout`."""


class TxnState(Enum):
    """The values of TXN_STATE."""

    OPEN = "o"
    ABORTED = "a"
    COMMITTED = "c"


class TxnRow(NamedTuple):
    """A row of TXNS; its age is the database's time minus TXN_STARTED."""

    txn: int
    state: TxnState
    age_ms: int
    read_only: bool = False


class WriteIdRow(NamedTuple):
    """A row of TXN_TO_WRITE_ID."""

    txn: int
    write_id: int


class AnyTxnRow(Protocol):
    """What must be known of a transaction to tell whether it is open."""

    @property
    def txn(self) -> int: ...
    @property
    def state(self) -> TxnState: ...
    @property
    def age_ms(self) -> int: ...


R = TypeVar("R", bound=AnyTxnRow)


class Uncommitted(NamedTuple, Generic[R]):
    """The transactions that aren't committed."""

    hwm: int
    rows: list[R]
    holes: list[int]
    """Ids without a row that count as open."""


def uncommitted(rows: Iterable[R], timeout_ms: int = OPEN_TXN_TIMEOUT_MS) -> Uncommitted[R]:
    """The transactions that aren't committed, in order.

    Ids are assigned before their rows become visible, so a hole below a young row counts as open.
    """
    hwm = 0
    unfinished: list[R] = []
    holes: list[int] = []
    for row in sorted(rows, key=lambda row: row.txn):
        if row.age_ms < timeout_ms:
            holes.extend(range(hwm + 1, row.txn))
        hwm = row.txn
        if row.state is not TxnState.COMMITTED:
            unfinished.append(row)
    return Uncommitted(hwm, unfinished, holes)


def open_txns(
    rows: Iterable[TxnRow],
    timeout_ms: int = OPEN_TXN_TIMEOUT_MS,
    *,
    with_read_only: bool = True,
) -> WriteIdList:
    """The ids of the transactions that aren't committed."""
    hwm, unfinished, holes = uncommitted(rows, timeout_ms)
    listed = [row for row in unfinished if with_read_only or not row.read_only]
    open_ids = [row.txn for row in listed if row.state is TxnState.OPEN]
    aborted_ids = [row.txn for row in listed if row.state is TxnState.ABORTED]
    return write_id_list(hwm, holes + open_ids, aborted_ids)


def valid_write_ids(
    txns: WriteIdList, rows: Iterable[WriteIdRow], next_write_id: int | None, table: str | None
) -> WriteIdList:
    """The write ids of a table that a reader with this list of transactions sees.

    If no committed id is left among the rows, the list ends at the first invalid one, so a later
    list may have a lower high-water mark: lists can't be ordered by it. Its least open id is then
    that of all ids, which may lie above the mark.
    """
    ordered = sorted(rows, key=lambda row: row.write_id)
    in_reach = [row.write_id for row in ordered if row.txn <= txns.hwm]
    hwm = max(in_reach, default=(next_write_id or 1) - 1)
    seen_valid = False
    invalid: list[WriteIdRow] = []
    for row in ordered:
        if row.write_id > hwm:
            break
        if txns.is_valid(row.txn):
            seen_valid = True
        else:
            invalid.append(row)
    min_open = next((row.write_id for row in invalid if row.txn not in txns.aborted), LONG_MAX)
    if invalid and not seen_valid:
        invalid = invalid[:1]
        hwm = invalid[0].write_id
    aborted = [row.write_id for row in invalid if row.txn in txns.aborted]
    open_ids = [row.write_id for row in invalid if row.txn not in txns.aborted]
    return WriteIdList(hwm, Ids(open_ids), Ids(aborted), min_open, table)


def loaded_write_ids(
    lo: int,
    hi: int,
    txns: WriteIdList,
    rows: Iterable[WriteIdRow],
    next_write_id: int | None,
) -> Loaded:
    """The result of a load: all allocated ids, not only those that a reader sees."""
    ordered = sorted(rows, key=lambda row: row.write_id)
    hwm = max((next_write_id or 1) - 1, ordered[-1].write_id if ordered else 0)
    aborted = tuple(row.write_id for row in ordered if row.txn in txns.aborted)
    opened = tuple(
        (row.txn, row.write_id)
        for row in ordered
        if not txns.is_valid(row.txn) and row.txn not in txns.aborted
    )
    return Loaded(lo, hi, hwm, opened, aborted)
