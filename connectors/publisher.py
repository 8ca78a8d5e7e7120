"""Writes records to the topic, each with the interval of events that it stands for."""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from connectors import headers
from connectors.headers import Headers, RecordHeaders, RecordKind
from connectors.kafka_clients import RECORD_BYTES_MAX, KafkaTopic
from connectors.metrics import Metrics
from connectors.sender import Sender
from connectors.source import OpenTxns
from connectors.tails import Tails
from hive.events.row import NotificationRow
from state.records import AnyRecord, Change, OpenTransactions, Reset, encode
from state.records.actions import AnyAction, DropPartitions, PutPartitions
from state.records.parts import split

VALUE_BYTES_MAX = RECORD_BYTES_MAX - 64 * 1024
"""What headers and framing leave of a record."""
LETTER_CHARS_MAX = 2 * 1024 * 1024
"""Even if JSON needs six bytes for each, they fit."""
_NEVER_CUT_ACTIONS_MAX = 16
_CUT = (PutPartitions, DropPartitions)


class Publisher:
    """The records of one connector, from the positions that the topic was found at.

    1. What is written for a shard is in its partition in this order, or an error is raised.
    2. `after` is the `upto` of what this connector wrote or found before it in that partition.
    """

    def __init__(
        self,
        topic: KafkaTopic,
        tails: Tails,
        metrics: Metrics,
        going_on: Callable[[], bool],
    ) -> None:
        """What waits for the brokers ends by `Stopped` when it isn't to go on."""
        assert not tails.behind, "every shard must be in the same epoch"
        self.epoch = tails.epoch
        self._topic = topic.name
        self._dead_letter = topic.dead_letter
        self._uptos = [upto or 0 for upto in tails.upto]
        self._metrics = metrics
        self._sent_records = self._sent_bytes = 0
        self._sender = Sender(topic, going_on)

    @property
    def shards(self) -> int:
        return len(self._uptos)

    def event(
        self,
        event_id: int,
        event_type: str,
        row_hash: bytes,
        routed: Mapping[int, tuple[AnyAction, ...]],
    ) -> bool:
        """What an event does to each shard that hasn't got it; False if that is too large."""
        parted: dict[int, list[bytes]] = {}
        encoded: dict[tuple[int, int], list[bytes]] = {}
        for shard, actions in routed.items():
            after = self._uptos[shard]
            if event_id > after:
                # A transaction's end says the same to all shards that have come equally far.
                same = (after, id(actions))
                values = encoded.get(same)
                if values is None:
                    change = Change(self.epoch, after, event_id, actions)
                    values = encoded[same] = [encode(part) for part in _parts(change)]
                parted[shard] = values
        for values in encoded.values():
            if max(map(len, values)) > VALUE_BYTES_MAX:
                return False
        last = headers.write(
            RecordHeaders(RecordKind.CHANGE, self.epoch, event_id, event_type, row_hash)
        )
        for shard, values in parted.items():
            if len(values) > 1:
                part = headers.write(
                    RecordHeaders(RecordKind.PART, self.epoch, event_id, event_type)
                )
                for value in values[:-1]:
                    self._send(shard, value, part)
            self._send(shard, values[-1], last)
            self._uptos[shard] = event_id
        return True

    def progress(self, position: int, row_hash: bytes | None) -> None:
        """Tells the shards that are left behind that nothing concerned them."""
        head = headers.write(RecordHeaders(RecordKind.PROGRESS, self.epoch, position, "", row_hash))
        for shard, after in enumerate(self._uptos):
            if after < position:
                self._send(shard, encode(Change(self.epoch, after, position)), head)
                self._uptos[shard] = position

    def skip(self, last: int) -> None:
        """Nobody can know what the events up to this one did: the next interval begins there.

        That the interval before it isn't continued is what tells the fold.
        """
        head = headers.write(RecordHeaders(RecordKind.PROGRESS, self.epoch, last))
        for shard, upto in enumerate(self._uptos):
            if upto < last:
                self._send(shard, encode(Change(self.epoch, last, last)), head)
                self._uptos[shard] = last

    def open_transactions(self, found: OpenTxns) -> None:
        """Tells every shard, which must be complete up to there, what is open."""
        assert min(self._uptos) >= found.at
        record = OpenTransactions(self.epoch, found.at, found.txns)
        self._broadcast(record, RecordHeaders(RecordKind.TRANSACTIONS, self.epoch, found.at))

    def dead_letter(self, row: NotificationRow) -> None:
        """Keeps a row that can't be read, its message cut if it is very long."""
        cut = msgspec.structs.replace(row, message=row.message[:LETTER_CHARS_MAX])
        written: Headers = [
            ("event_id", b"%d" % row.event_id),
            ("message_chars", b"%d" % len(row.message)),
        ]
        self._sender.send(self._dead_letter, 0, msgspec.json.encode(cut), written)

    def serve(self) -> None:
        """Notices what went wrong so far, and counts; waits for nothing."""
        self._sender.serve()
        self._metrics.records.inc(self._sent_records)
        self._metrics.bytes.inc(self._sent_bytes)
        self._sent_records = self._sent_bytes = 0

    def flush(self) -> None:
        """Returns when the brokers have everything."""
        self.serve()
        self._sender.flush()

    def close(self) -> None:
        """Forgets what the brokers haven't got: whoever goes on finds that in the topic."""
        self._sender.close()

    def _broadcast(self, record: AnyRecord, head: RecordHeaders) -> None:
        value, written = encode(record), headers.write(head)
        for shard in range(self.shards):
            self._send(shard, value, written)

    def _send(self, shard: int, value: bytes, written: Headers) -> None:
        self._sender.send(self._topic, shard, value, written)
        self._sent_records += 1
        self._sent_bytes += len(value)


def reset(topic: KafkaTopic, epoch: int, at: int, shards: Sequence[int]) -> None:
    """Begins an epoch in these shards, after event `at`."""
    write_now(topic, Reset(epoch, at), RecordHeaders(RecordKind.RESET, epoch, at), shards)


def write_now(
    topic: KafkaTopic, record: AnyRecord, head: RecordHeaders, shards: Sequence[int]
) -> None:
    """Returns when the broker has a record of its own in each of these shards."""
    value, written = encode(record), headers.write(head)
    sender = Sender(topic)
    try:
        for shard in shards:
            sender.send(topic.name, shard, value, written)
        sender.flush()
    finally:
        sender.close()


def _parts(change: Change) -> list[Change]:
    """The change, cut where it is large; most are not, and to measure them costs."""
    actions = change.actions
    if len(actions) > _NEVER_CUT_ACTIONS_MAX:
        return split(change)
    for action in actions:
        if isinstance(action, _CUT):
            return split(change)
    return [change]
