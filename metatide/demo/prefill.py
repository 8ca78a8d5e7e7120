"""Writes a log of a given length in bulk: the mix's events without the rows that they describe."""

from collections.abc import Sequence

from sqlalchemy import Engine, MetaData, func, select

from metatide.demo.changes import Change
from metatide.demo.records import Record
from metatide.demo.sessions import WriterSession

RECORDS_AT_ONCE = 2_000


class LogOnly:
    """A sink that collects records for bulk writes, and ignores changes."""

    def __init__(self, engine: Engine, metadata: MetaData) -> None:
        self._session = WriterSession(engine, metadata)
        self._waiting: list[Record] = []
        self._last_txn_id = _beyond_all_transactions(engine, metadata)

    def open_transactions(self, count: int, now_ms: int) -> list[int]:
        """Returns ids that no row of TXNS has."""
        del now_ms
        first = self._last_txn_id + 1
        self._last_txn_id += count
        return list(range(first, first + count))

    def write(self, changes: Sequence[Change], records: Sequence[Record]) -> None:
        """Collects the records; the changes are ignored."""
        del changes
        self._waiting += records
        if len(self._waiting) >= RECORDS_AT_ONCE:
            self._flush()

    def close(self) -> None:
        """Writes the collected records."""
        self._flush()
        self._session.close()

    def _flush(self) -> None:
        if self._waiting:
            self._session.write([], self._waiting)
            self._waiting.clear()


def _beyond_all_transactions(engine: Engine, metadata: MetaData) -> int:
    """An id above those of all transactions, in TXNS and in the log."""
    txns, sequence = metadata.tables["TXNS"].c, metadata.tables["NOTIFICATION_SEQUENCE"].c
    with engine.connect() as connection:
        last = connection.scalar(select(func.max(txns.TXN_ID))) or 0
        return int(last) + int(connection.scalar(select(sequence.NEXT_EVENT_ID)) or 0)
