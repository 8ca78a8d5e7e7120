"""Folds records into a store, batch by batch."""

from typing import Final, Protocol

from processors.fold import Fold, Signal
from processors.lost_records import record_mark
from state.records import decode
from state.store import Overlay, StorePosition

RECORDS_MAX: Final = 1000
BYTES_MAX: Final = 8 << 20


class Committed(Protocol):
    """The side of a store that the fold writes to."""

    @property
    def position(self) -> StorePosition: ...

    def transaction(self) -> Overlay: ...

    def commit(self, transaction: Overlay, position: StorePosition) -> None:
        """Makes the changes visible; the transaction is empty afterwards, and goes on."""
        ...


class Applier:
    """The one writer of a store.

    1. Takes records in the order of their offsets and skips those that it has already folded.
    2. `commit` makes the batch visible together with its position.
    3. An error discards the whole batch: the applier continues from the last commit. Only a record
       that can't be read leaves the batch as it is.
    4. It keeps decoded states from batch to batch. After another writer has changed the store,
       `resume` must be called.
    """

    exemplar: dict[str, str] | None = None
    """The trace of an event of the last batch, if any is traced."""

    def __init__(self, store: Committed) -> None:
        self._store = store
        self._reset()

    def _reset(self) -> None:
        self._fold: Fold | None = None
        self._txn: Overlay | None = None
        self._next = self._store.position.offset
        self._pending = 0
        self._bytes = 0
        self._last: bytes | None = None
        """The last record of the batch; None if it was passed over."""

    @property
    def next_offset(self) -> int:
        """The offset of the next record to fold."""
        return self._next

    @property
    def pending(self) -> int:
        """How many records a commit would make visible."""
        return self._pending

    @property
    def full(self) -> bool:
        """Whether a commit is due."""
        return self._pending >= RECORDS_MAX or self._bytes >= BYTES_MAX

    def resume(self) -> None:
        """Continues from the store's position after another writer has moved it."""
        assert not self._pending, "a batch was under way"
        self._reset()

    def skip_to(self, offset: int) -> None:
        """Skips to this offset: the topic has no record before it any more. That is for `commit`
        to make visible, even if no record follows."""
        assert not self._pending, "a batch spans offsets that the topic lacks"
        assert offset >= self._next
        if offset == self._next:
            return
        try:
            (self._fold or self._begin()).lose()
        except BaseException:
            self._reset()
            raise
        self._next = offset

    # Overridden in `worker/traced_applier.py`.
    def add(self, offset: int, value: bytes) -> None:
        """Folds the next record."""
        if offset != self._next:
            assert offset < self._next, f"offset {offset} came, {self._next} was expected"
            return
        record = decode(value)
        try:
            (self._fold or self._begin()).apply(record)
        except BaseException:
            self._reset()
            raise
        self._next += 1
        self._pending += 1
        self._bytes += len(value)
        self._last = value

    def skip(self) -> None:
        """Passes over the next record, which can't be read."""
        try:
            (self._fold or self._begin()).skip()
        except BaseException:
            self._reset()
            raise
        self._next += 1
        self._pending += 1
        self._last = None

    def _begin(self) -> Fold:
        self._txn = self._store.transaction()
        self._fold = Fold(self._txn)
        return self._fold

    # Overridden in `worker/traced_applier.py`.
    def commit(self) -> list[Signal]:
        """Makes the batch visible and returns the signals of its events."""
        if self._next == self._store.position.offset:
            return []
        assert self._fold is not None
        assert self._txn is not None
        try:
            signals = self._fold.flush()
            fold = self._fold
            last = 0 if self._last is None else record_mark(self._last)
            position = StorePosition(fold.epoch, fold.applied, self._next, fold.mark, last)
            self._store.commit(self._txn, position)
        except BaseException:
            self._reset()
            raise
        self._pending = self._bytes = 0
        self._last = None
        return signals
