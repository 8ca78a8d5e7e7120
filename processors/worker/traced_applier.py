"""The spans of events that a shard folds."""

from processors.applier import Applier, Committed
from processors.fold import Signal
from state.records import Change, decode
from state.tracing import Tracing, now_ns


class TracedApplier(Applier):
    """Takes the place of a live shard's applier when traces are on."""

    def __init__(self, store: Committed, tracing: Tracing, topic: str, shard: int) -> None:
        super().__init__(store)
        self._tracing = tracing
        self._topic = topic
        self._shard = shard
        self._events: list[tuple[int, int]] = []
        """The epoch and id of each traced event of the batch."""
        self._began_ns = 0

    def add(self, offset: int, value: bytes) -> None:
        if not self._events:
            self._began_ns = now_ns()
        is_next = offset == self.next_offset
        super().add(offset, value)
        record = decode(value) if is_next else None
        if not isinstance(record, Change) or not record.actions:
            return
        if self._tracing.is_sampled(self._topic, record.epoch, record.upto):
            self._events.append((record.epoch, record.upto))

    def commit(self) -> list[Signal]:
        signals = super().commit()
        events, self._events = self._events, []
        self.exemplar = None
        for epoch, event_id in events:
            self.exemplar = self._tracing.folded(
                self._topic, epoch, self._shard, event_id, self._began_ns
            )
        return signals
