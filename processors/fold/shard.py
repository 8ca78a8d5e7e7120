"""The fold of one shard: records go in, changes of its key space and signals come out."""

from typing import Final

import msgspec

from processors.fold import doubts
from processors.fold.handlers import ACTIONS, ANY_EPOCH, SAME_EPOCH, of_cached
from processors.fold.signals import Signal
from processors.fold.working_set import WorkingSet
from state import keys, kv
from state.kv import Transaction
from state.records import AnyRecord, Change
from state.records.actions import AnyAction
from state.records.epochs import follows

DECODED_MAX: Final = 1024
"""The most decoded states that are kept from batch to batch; beyond, all are decoded anew."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(tuple[AnyAction, ...]).decode


class Fold:
    """Folds records into a transaction.

    1. The records of a shard come in the order of their offsets, each once or more often.
    2. The result depends only on the transaction's content and the records: no clock, no chance.
    3. Call `flush` before the transaction is committed; after a failure, fold anew from the store.
    4. The fold goes on after a commit if nobody else has written to the store.
    """

    def __init__(self, txn: Transaction) -> None:
        self._work = WorkingSet(txn)

    @property
    def epoch(self) -> int:
        return self._work.head.epoch

    @property
    def applied(self) -> int:
        """The event up to which everything is folded."""
        return self._work.head.applied

    @property
    def mark(self) -> int:
        """The mark of that event's row; 0 if it isn't known."""
        return self._work.head.mark

    def apply(self, record: AnyRecord) -> None:
        work = self._work
        if isinstance(record, Change):
            epoch = work.head.epoch
            if record.epoch == epoch:
                self._change(record)
            elif follows(record.epoch, epoch):
                doubts.reset(work, record.epoch, record.after)
                self._change(record)
            return
        kind = type(record)
        if kind in ANY_EPOCH:
            ANY_EPOCH[kind](work, record)
        elif record.epoch == work.head.epoch:
            SAME_EPOCH[kind](work, record)

    def skip(self) -> None:
        """Passes over a record that can't be read."""
        doubts.skip(self._work)

    def lose(self) -> None:
        """Notes that the topic lacks records before the next one."""
        doubts.lose(self._work)

    def flush(self) -> list[Signal]:
        """Writes all decoded states into the transaction; returns the signals since the last
        flush."""
        work = self._work
        work.flush()
        if work.decoded_count > DECODED_MAX:
            work.forget()
        signals = list(work.signals.values())
        work.signals.clear()
        return signals

    def _change(self, record: Change) -> None:
        work = self._work
        head, event = work.head, record.upto
        if event <= head.applied:
            return
        if record.after > head.applied:
            doubts.break_chain(work, record.after)
            head.applied, head.mark = record.after, 0
            kv.delete_prefix(work.txn, keys.PART)
        actions = record.actions if record.parts == 1 else self._join(record)
        if actions is None:
            return
        for action in actions:
            if work.lists.open or of_cached(work, action):
                ACTIONS[type(action)](work, event, action)
        head.applied, head.mark = event, record.mark

    def _join(self, record: Change) -> tuple[AnyAction, ...] | None:
        """All actions of a large event if this is its last part and none is missing.

        If a part is missing the position stays: either a publisher sends all parts again, or the
        next record shows that the chain is broken.
        """
        txn = self._work.txn
        last = record.parts - 1
        if record.part < last:
            txn.put(keys.event_part(record.upto, record.part), _encode(record.actions))
            return None
        earlier: list[AnyAction] = []
        for part in range(last):
            stored = txn.get(keys.event_part(record.upto, part))
            if stored is None:
                return None
            earlier += _decode(stored)
        kv.delete_prefix(txn, keys.PART)
        return (*earlier, *record.actions)
