"""The write ids of a table as the fold keeps them: a list from loads and events, or a doubt."""

from collections.abc import Callable, Container, Iterable, Sequence

from hive.write_ids.bit_set import parse_bit_set, print_bit_set
from hive.write_ids.pages import (
    ABORTED,
    BITS_A_PAGE,
    HEAD,
    IDS_A_PAGE,
    JOURNAL,
    OPEN,
    TXN,
    Alloc,
    Ended,
    Forgotten,
    ListHeader,
    Loaded,
    OpenEntry,
    Pages,
    Seen,
    TxnEntry,
    WriteIdsCold,
    decode_fact,
    decode_open,
    decode_txns,
    encode,
    page_key,
)
from hive.write_ids.view import WriteIdView

OPEN_MAX = 1_000_000
ABORTED_MAX = 100_000
"""The most aborted ids kept; lower ones are forgotten and look committed, as if Hive purged
them."""
JOURNAL_MAX = 10_000
"""A load is given up when more facts than this have come since it began."""
_NUMBER_MAX = 1 << 62


class WriteIdTracker(WriteIdView):
    """The list of one table. Every method writes through to its pages. Only `merge`, `expect_open`
    and a restart cost O(open ids).

    1. Facts (what events say of write ids) come in event order. A fact at or below `position` was
       folded before, or is part of the load that the list began with, and changes nothing.
    2. Every id from 1 to `hwm` is in one of three states: open, aborted, or (in no page) committed.
       Open goes to aborted or committed, never back.
    3. The pages of open ids and of transactions are inverse to each other: a transaction has at
       most one open id. A further one replaces it, and the earlier one never commits.
    4. A cold list has no ids; only facts that come during a load are kept. Coldness ends with a
       merge, or with an allocation that starts at 1, since all ids are known from then on.
    5. Between `begin_load` and `merge` every fact about the table is journaled, so that all that
       happened after `lo` can be applied to a load that counts as of `lo`. The bytes of the pages
       don't depend on the order in which a load and the events around it come, nor on how often.
    6. The load may reflect events up to `hi` already. So an allocation up to `hi` may name ids that
       are not above `hwm`; an aborted id stays aborted, and any other is open until its end comes.
    7. A committed id without a page, and an aborted one that was forgotten, look the same. This
       costs hits at most: an aborted id brought no data.
    """

    def __init__(self, pages: Pages) -> None:
        super().__init__(pages)
        self._pages = pages

    def alloc(self, event: int, pairs: Iterable[tuple[int, int]]) -> None:
        """Notes the write ids that transactions allocated: (transaction, id) pairs."""
        if event <= self._head.position:
            return
        self._head.position = event
        ordered = sorted(pairs, key=lambda pair: pair[1])
        self._journal(Alloc(event, tuple(ordered)))
        reason = self._alloc(event, ordered) if ordered else None
        if reason is not None:
            self._go_cold(event, reason)
        self._save()

    def commit(self, event: int, txn: int, write_ids: Container[int] | None) -> None:
        """Notes a commit; `write_ids` are those of its event in the table's database, None if it
        has none."""
        id_ = None if event <= self._head.position else self.id_of(txn)
        if id_ is None:
            return
        self._head.position = event
        if write_ids is not None and id_ not in write_ids:
            self._go_cold(event, WriteIdsCold.COMMIT_WITHOUT_ID)
        else:
            self._close(txn, id_)
        self._save()

    def abort(self, event: int, txn: int) -> None:
        id_ = None if event <= self._head.position else self.id_of(txn)
        if id_ is None:
            return
        self._head.position = event
        self._close(txn, id_)
        self._mark_aborted(id_)
        self._save()

    def see(self, event: int, write_id: int) -> None:
        """Notes the write id of an event about the table."""
        if event <= self._head.position:
            return
        self._journal(Seen(event, write_id))
        above = not self._head.cold and write_id > self._head.hwm
        if above:
            self._go_cold(event, WriteIdsCold.ID_ABOVE_HWM)
        if above or self.loading:
            self._save()

    def forget(self, event: int, reason: WriteIdsCold) -> None:
        """Makes the list unknown from this event on: a drop, a rename, a hole in the log."""
        if event <= self._head.position:
            return
        self._journal(Forgotten(event, reason.value))
        self._go_cold(event, reason)
        self._save()

    def expect_open(self, event: int, open_txns: Container[int]) -> None:
        """Compares the list with all transactions that were open right after a folded event.

        A transaction that is open here but not in the metastore was aborted without an event.
        During a load this proves nothing; the next comparison will.
        """
        if self._head.cold or self.loading:
            return
        hidden = any(since <= event and txn not in open_txns for _, txn, since in self._open())
        if hidden:
            self._go_cold(max(event, self._head.position), WriteIdsCold.HIDDEN_ABORT)
            self._save()

    def begin_load(self, applied: int) -> None:
        """Begins a load, after all events up to `applied` were folded."""
        self.end_load()
        self._head.journal_from = max(applied, self._head.position)
        self._save()

    def end_load(self) -> None:
        """Ends the open load without a result."""
        if self.loading:
            self._pages.delete_prefix(JOURNAL)
            self._head.journal_from, self._head.journal_count = -1, 0
            self._save()

    def merge(self, load: Loaded, ended: Callable[[int], Ended | None]) -> bool:
        """Ends the open load with its result; False if it came too late to be of use.

        `ended` has the outcome of all transactions that ended since the load began.
        """
        usable = self.loading and load.lo >= self._head.journal_from
        if not usable or len(load.open) > OPEN_MAX:
            return False
        replays = self._replays(load, ended)
        self._pages.delete_prefix(b"")
        hwm = max([load.hwm, *load.aborted, *(id_ for _, id_ in load.open)])
        self._head = ListHeader(position=load.lo, cold="", hwm=hwm, hi=load.hi)
        self._put_loaded(load)
        self._save()
        for replay in replays:
            replay()
        return True

    def _replays(
        self, load: Loaded, ended: Callable[[int], Ended | None]
    ) -> list[Callable[[], None]]:
        """What repeats all that has happened to the list since the load began, in event order."""
        pages = self._pages.scan(JOURNAL) if self._head.journal_count else ()
        facts = [decode_fact(value) for _, value in pages]
        allocated = [fact for fact in facts if isinstance(fact, Alloc)]
        txns = {txn for txn, _ in load.open} | {txn for fact in allocated for txn, _ in fact.pairs}
        ends = [(txn, end) for txn in txns if (end := ended(txn)) is not None]
        replays: list[tuple[int, int, Callable[[], None]]] = []
        replays += [(fact.event, 0, self._replay(fact)) for fact in facts]
        replays += [(end.event, txn, self._replay_end(txn, end)) for txn, end in ends]
        return [replay for _, _, replay in sorted(replays, key=lambda entry: entry[:2])]

    def _replay(self, fact: Alloc | Seen | Forgotten) -> Callable[[], None]:
        match fact:
            case Alloc(event, pairs):
                return lambda: self.alloc(event, pairs)
            case Seen(event, write_id):
                return lambda: self.see(event, write_id)
            case Forgotten(event, reason):
                return lambda: self.forget(event, WriteIdsCold(reason))

    def _replay_end(self, txn: int, end: Ended) -> Callable[[], None]:
        if end.committed:
            return lambda: self.commit(end.event, txn, end.write_ids)
        return lambda: self.abort(end.event, txn)

    def _alloc(self, event: int, pairs: Sequence[tuple[int, int]]) -> WriteIdsCold | None:
        head = self._head
        in_load = event <= head.hi
        if any(not (0 < txn < _NUMBER_MAX and 0 < id_ < _NUMBER_MAX) for txn, id_ in pairs):
            return WriteIdsCold.ALLOC_GAP
        if pairs[0][1] == 1:
            if head.cold or in_load or any(self.id_of(txn) != id_ for txn, id_ in pairs):
                self._restart(event)
            elif head.hwm != pairs[-1][1]:
                return WriteIdsCold.ALLOC_AGAIN
        if head.cold:
            return None
        for txn, id_ in pairs:
            current_id = self.id_of(txn)
            if current_id == id_:
                continue
            if id_ == head.hwm + 1:
                head.hwm = id_
            elif not in_load or id_ > head.hwm or self.is_open(id_):
                return WriteIdsCold.ALLOC_GAP
            elif self._is_aborted(id_):
                continue
            if current_id is not None and current_id > id_:
                self._mark_aborted(id_)
                continue
            self._open_id(event, txn, id_, current_id)
        return WriteIdsCold.TOO_MANY_OPEN if head.open_count > OPEN_MAX else None

    def _open_id(self, event: int, txn: int, id_: int, current_id: int | None) -> None:
        if current_id is not None:
            self._close(txn, current_id)
            self._mark_aborted(current_id)
        number, offset = divmod(id_, IDS_A_PAGE)
        self._put_open(number, [*self._open_page(number), (offset, txn, event)])
        number, offset = divmod(txn, IDS_A_PAGE)
        self._put_txns(number, [*self._txn_page(number), (offset, id_)])
        self._head.open_count += 1

    def _close(self, txn: int, id_: int) -> None:
        number, offset = divmod(id_, IDS_A_PAGE)
        self._put_open(number, [entry for entry in self._open_page(number) if entry[0] != offset])
        number, offset = divmod(txn, IDS_A_PAGE)
        self._put_txns(number, [entry for entry in self._txn_page(number) if entry[0] != offset])
        self._head.open_count -= 1

    def _mark_aborted(self, id_: int) -> None:
        number, bit = divmod(id_, BITS_A_PAGE)
        bits = parse_bit_set(self._pages.get(page_key(ABORTED, number)) or b"")
        assert bit not in bits, "an id is aborted once"
        self._pages.put(page_key(ABORTED, number), print_bit_set(sorted([*bits, bit])))
        self._head.aborted_count += 1
        self._forget_aborted()

    def _forget_aborted(self) -> None:
        """Forgets whole pages of aborted ids, lowest first, as long as enough remain."""
        while self._head.aborted_count > ABORTED_MAX:
            key, page = next(iter(self._pages.scan(ABORTED)))
            remaining = self._head.aborted_count - len(parse_bit_set(page))
            if remaining < ABORTED_MAX:
                return
            self._pages.delete(key)
            self._head.aborted_count = remaining

    def _restart(self, event: int) -> None:
        self._clear_ids()
        self._head.cold, self._head.cold_since = "", -1
        self._head.hwm, self._head.hi = 0, event - 1

    def _go_cold(self, event: int, reason: WriteIdsCold) -> None:
        self._clear_ids()
        self._head.position = self._head.cold_since = event
        self._head.cold = reason.value
        self._head.hwm, self._head.hi = 0, -1

    def _clear_ids(self) -> None:
        for kind in (OPEN, TXN, ABORTED):
            self._pages.delete_prefix(kind)
        self._head.open_count = self._head.aborted_count = 0

    def _put_loaded(self, load: Loaded) -> None:
        opened: dict[int, list[OpenEntry]] = {}
        txns: dict[int, list[TxnEntry]] = {}
        aborted: dict[int, list[int]] = {}
        for txn, id_ in load.open:
            opened.setdefault(id_ // IDS_A_PAGE, []).append((id_ % IDS_A_PAGE, txn, load.hi))
            txns.setdefault(txn // IDS_A_PAGE, []).append((txn % IDS_A_PAGE, id_))
        for id_ in set(load.aborted):
            aborted.setdefault(id_ // BITS_A_PAGE, []).append(id_ % BITS_A_PAGE)
        for number, open_entries in opened.items():
            self._put_open(number, open_entries)
        for number, txn_entries in txns.items():
            self._put_txns(number, txn_entries)
        for number, bits in aborted.items():
            self._pages.put(page_key(ABORTED, number), print_bit_set(sorted(bits)))
        self._head.open_count = len(load.open)
        self._head.aborted_count = sum(map(len, aborted.values()))
        self._forget_aborted()

    def _open_page(self, number: int) -> list[OpenEntry]:
        page = self._pages.get(page_key(OPEN, number))
        return decode_open(page) if page else []

    def _txn_page(self, number: int) -> list[TxnEntry]:
        page = self._pages.get(page_key(TXN, number))
        return decode_txns(page) if page else []

    def _put_open(self, number: int, entries: list[OpenEntry]) -> None:
        self._put(page_key(OPEN, number), sorted(entries))

    def _put_txns(self, number: int, entries: list[TxnEntry]) -> None:
        self._put(page_key(TXN, number), sorted(entries))

    def _put(self, key: bytes, entries: Sequence[tuple[int, ...]]) -> None:
        if entries:
            self._pages.put(key, encode(entries))
        else:
            self._pages.delete(key)

    def _journal(self, fact: Alloc | Seen | Forgotten) -> None:
        if not self.loading:
            return
        key = page_key(JOURNAL, fact.event)
        stored = self._pages.get(key)
        if stored is not None:
            earlier = decode_fact(stored)
            if isinstance(earlier, Seen) and isinstance(fact, Seen):
                fact = Seen(fact.event, max(earlier.write_id, fact.write_id))
        elif self._head.journal_count == JOURNAL_MAX:
            self.end_load()
            return
        else:
            self._head.journal_count += 1
        self._pages.put(key, encode(fact))

    def _save(self) -> None:
        self._pages.put(HEAD, encode(self._head))
