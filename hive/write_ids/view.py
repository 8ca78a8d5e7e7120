"""A reader's view of a table's write ids, from the pages of its evolving list."""

from collections.abc import Iterator
from typing import Final

from hive.write_ids.bit_set import parse_bit_set
from hive.write_ids.ids import Ids
from hive.write_ids.lists import LONG_MAX, WriteIdList
from hive.write_ids.pages import (
    ABORTED,
    BITS_A_PAGE,
    HEAD,
    IDS_A_PAGE,
    OPEN,
    TXN,
    ListHeader,
    PageReader,
    WriteIdsCold,
    decode_head,
    decode_open,
    decode_txns,
    page_key,
    page_number,
)

_COLD: Final = {reason.value: reason for reason in WriteIdsCold}
"""The fold needs the reason at every write, and calling the enum takes several times as long."""


class WriteIdView:
    """The write ids as readers see them. Each change of the list changes the bytes of its head."""

    def __init__(self, pages: PageReader) -> None:
        self._reader = pages
        stored = pages.get(HEAD)
        self._head = ListHeader() if stored is None else decode_head(stored)

    @property
    def cold(self) -> WriteIdsCold | None:
        """Why the list is unknown; None if it is known."""
        return _COLD[self._head.cold] if self._head.cold else None

    @property
    def cold_since(self) -> int:
        """The earliest event as of which a load ends the coldness."""
        return self._head.cold_since

    @property
    def position(self) -> int:
        """The last event that changed the list."""
        return self._head.position

    @property
    def reflects(self) -> int:
        """The last event that the list may reflect: a load may be ahead of the fold."""
        return max(self._head.position, self._head.hi)

    @property
    def hwm(self) -> int:
        return self._head.hwm

    @property
    def open_count(self) -> int:
        return self._head.open_count

    @property
    def loading(self) -> bool:
        """Whether a load is open."""
        return self._head.journal_from >= 0

    def is_open(self, write_id: int) -> bool:
        return self._open_entry(write_id) is not None

    def open_ids(self) -> Iterator[int]:
        """The open ids, ascending."""
        return (id_ for id_, _, _ in self._open())

    def min_open(self) -> int | None:
        """The least open id."""
        return next(self.open_ids(), None)

    def open_txns(self) -> Iterator[int]:
        """The transactions of the open ids."""
        return (txn for _, txn, _ in self._open())

    def id_of(self, txn: int) -> int | None:
        """The open id of a transaction, which has at most one in a table."""
        page = self._reader.get(page_key(TXN, txn // IDS_A_PAGE))
        for offset, id_ in decode_txns(page) if page else ():
            if offset == txn % IDS_A_PAGE:
                return id_
        return None

    def snapshot(self, table: str | None = None) -> WriteIdList | None:
        """The whole list; None if it is cold."""
        if self._head.cold:
            return None
        ids = Ids(id_ for id_, _, _ in self._open())
        aborted = Ids(
            page_number(key) * BITS_A_PAGE + bit
            for key, page in self._reader.scan(ABORTED)
            for bit in parse_bit_set(page)
        )
        return WriteIdList(self._head.hwm, ids, aborted, ids[0] if ids else LONG_MAX, table)

    def _open(self) -> Iterator[tuple[int, int, int]]:
        """Open ids, ascending, with their transaction and event."""
        if not self._head.open_count:
            return
        for key, page in self._reader.scan(OPEN):
            first = page_number(key) * IDS_A_PAGE
            for offset, txn, event in decode_open(page):
                yield first + offset, txn, event

    def _open_entry(self, write_id: int) -> tuple[int, int] | None:
        """The transaction and the event of an open id."""
        if not 0 < write_id <= self._head.hwm:
            return None
        page = self._reader.get(page_key(OPEN, write_id // IDS_A_PAGE))
        for offset, txn, event in decode_open(page) if page else ():
            if offset == write_id % IDS_A_PAGE:
                return txn, event
        return None

    def _is_aborted(self, write_id: int) -> bool:
        page = self._reader.get(page_key(ABORTED, write_id // BITS_A_PAGE))
        return write_id % BITS_A_PAGE in parse_bit_set(page or b"")
