"""Writes records to the topic, each with the interval of events that it stands for."""

from collections.abc import Collection, Mapping, Sequence
from typing import Final

import msgspec

from connectors.log.last_event import LastEvent
from connectors.log.source import OpenTxns
from connectors.metrics import Metrics
from connectors.publish import headers
from connectors.publish.headers import Headers, RecordHeaders, RecordKind
from connectors.publish.sender import Sender
from connectors.publish.tails import Tails
from hive.events.row import NotificationRow
from state.records import AnyRecord, Change, OpenTransactions, Pause, Reset, encode
from state.records.actions import AnyAction, DropPartitions, PutPartitions
from state.records.parts import split
from state.topic import Topic
from state.topic.settings import RECORD_BYTES_MAX

VALUE_BYTES_MAX = RECORD_BYTES_MAX - 64 * 1024
"""The largest value: headers and framing take the rest of a record."""
LETTER_CHARS_MAX = 2 * 1024 * 1024
"""The most characters of a dead letter, which fit even if JSON needs six bytes for each."""
FENCE: Final = Pause(0, 0, paused=False)
"""A record that changes nothing, whatever the epoch of its shard: no pause has a lower version."""
_NEVER_CUT_ACTIONS_MAX = 16
_CUT = (PutPartitions, DropPartitions)


class Publisher:
    """Writes the records of one connector, beginning at the tails of the topic.

    1. Records of one shard reach its partition in order, or an error is raised.
    2. The `after` of a record is the `upto` of the one before it in the partition, as far as this
       connector knows: the last one that it wrote or found there.
    """

    def __init__(self, topic: Topic, sender: Sender, tails: Tails, metrics: Metrics) -> None:
        assert not tails.behind, "every shard must be in the same epoch"
        self.epoch = tails.epoch
        self._topic = topic.name
        self._dead_letter = topic.dead_letter
        self._uptos = [upto or 0 for upto in tails.upto]
        self._metrics = metrics
        self._sent_records = self._sent_bytes = 0
        self._sender = sender

    @property
    def shards(self) -> int:
        return len(self._uptos)

    @property
    def unacknowledged(self) -> int:
        """The number of records that the brokers haven't acknowledged."""
        return self._sender.unacknowledged

    @property
    def uptos(self) -> Sequence[int]:
        """The event up to which each shard has all that concerns it."""
        return self._uptos

    @property
    def complete_to(self) -> int:
        """The event up to which every shard has all that concerns it."""
        return min(self._uptos)

    def event(
        self,
        event_id: int,
        event_type: str,
        row_hash: bytes,
        mark: int,
        routed: Mapping[int, tuple[AnyAction, ...]],
    ) -> bool:
        """Writes the effects of an event to each shard that lacks it; False if they are too large.
        Raises an error, and writes nothing, if a record of them could not be read again."""
        parted: dict[int, list[bytes]] = {}
        encoded: dict[tuple[int, int], list[bytes]] = {}
        for shard, actions in routed.items():
            after = self._uptos[shard]
            if event_id > after:
                # The end of a transaction is the same record for all shards at the same position.
                same = (after, id(actions))
                values = encoded.get(same)
                if values is None:
                    change = Change(self.epoch, after, event_id, actions, mark=mark)
                    values = encoded[same] = [encode(part) for part in _parts(change)]
                parted[shard] = values
        for values in encoded.values():
            if max(map(len, values)) > VALUE_BYTES_MAX:
                return False
        last = headers.write(
            RecordHeaders(RecordKind.CHANGE, self.epoch, event_id, event_type, row_hash)
        )
        send, topic, uptos = self._sender.send, self._topic, self._uptos
        for shard, values in parted.items():
            *parts, value = values
            if parts:
                self._send_parts(shard, parts, event_id, event_type)
            send(topic, shard, value, last)
            self._sent_bytes += len(value)
            uptos[shard] = event_id
        self._sent_records += len(parted)
        return True

    def _send_parts(self, shard: int, parts: list[bytes], event_id: int, event_type: str) -> None:
        head = headers.write(RecordHeaders(RecordKind.PART, self.epoch, event_id, event_type))
        for part in parts:
            self._send(shard, part, head)

    def progress(
        self, position: int, row_hash: bytes | None, mark: int, shards: Collection[int]
    ) -> None:
        """Tells those of the shards that are behind that no event up to this position concerned
        them.
        """
        head = headers.write(RecordHeaders(RecordKind.PROGRESS, self.epoch, position, "", row_hash))
        for shard in shards:
            after = self._uptos[shard]
            if after < position:
                change = Change(self.epoch, after, position, mark=mark)
                self._send(shard, encode(change), head)
                self._uptos[shard] = position

    def skip(self, last: int) -> None:
        """Begins the next interval after an event whose effects can't be known.

        The fold sees that the new interval doesn't continue the one before it.
        """
        head = headers.write(RecordHeaders(RecordKind.PROGRESS, self.epoch, last))
        for shard, upto in enumerate(self._uptos):
            if upto < last:
                self._send(shard, encode(Change(self.epoch, last, last)), head)
                self._uptos[shard] = last

    def open_transactions(self, opened: OpenTxns) -> None:
        """Tells every shard which transactions are open; each must be complete up to that event."""
        assert self.complete_to >= opened.at
        record = OpenTransactions(self.epoch, opened.at, opened.txns)
        self._broadcast(record, RecordHeaders(RecordKind.TRANSACTIONS, self.epoch, opened.at))

    def dead_letter(self, row: NotificationRow) -> None:
        """Keeps a row that can't be read; a very long message is cut."""
        cut = msgspec.structs.replace(row, message=row.message[:LETTER_CHARS_MAX])
        written: Headers = [
            ("event_id", b"%d" % row.event_id),
            ("message_chars", b"%d" % len(row.message)),
        ]
        self._sender.send(self._dead_letter, 0, msgspec.json.encode(cut), written)

    def serve(self) -> None:
        """Raises errors of earlier sends and counts what was sent, without waiting."""
        self._sender.serve()
        self._metrics.records.inc(self._sent_records)
        self._metrics.bytes.inc(self._sent_bytes)
        self._sent_records = self._sent_bytes = 0

    def flush(self) -> None:
        """Returns when the brokers have acknowledged everything."""
        self.serve()
        self._sender.flush()

    def _broadcast(self, record: AnyRecord, head: RecordHeaders) -> None:
        value, written = encode(record), headers.write(head)
        for shard in range(self.shards):
            self._send(shard, value, written)

    def _send(self, shard: int, value: bytes, written: Headers) -> None:
        self._sender.send(self._topic, shard, value, written)
        self._sent_records += 1
        self._sent_bytes += len(value)


def fence(sender: Sender, topic: Topic, epoch: int) -> None:
    """Returns when all that brokers have taken before is visible. `epoch` is the latest of any
    record: if others are deleted, this one is still a trace of it.

    A record of a connector that has ended may be there while a replica lags. Brokers acknowledge a
    record only once it is visible with all before it.
    """
    head = RecordHeaders(RecordKind.CONTROL, epoch)
    write(sender, topic, FENCE, head, range(topic.shards))


def reset(sender: Sender, topic: Topic, epoch: int, last: LastEvent, shards: Sequence[int]) -> None:
    """Begins an epoch after an event in these shards.

    The hash and the mark of its row are told, since the database may lose that very event before
    another follows: only they tell it from the one that it has instead.
    """
    head = RecordHeaders(RecordKind.RESET, epoch, last.event_id, "", last.hash)
    write(sender, topic, Reset(epoch, last.event_id, last.mark), head, shards)


def write(
    sender: Sender, topic: Topic, record: AnyRecord, head: RecordHeaders, shards: Sequence[int]
) -> None:
    """Writes one record to each of these shards and returns when the brokers have them."""
    value, written = encode(record), headers.write(head)
    for shard in shards:
        sender.send(topic.name, shard, value, written)
    sender.flush()


def _parts(change: Change) -> list[Change]:
    """Cuts a large change into parts. Most changes are small, and measuring them costs time."""
    actions = change.actions
    if len(actions) > _NEVER_CUT_ACTIONS_MAX:
        return split(change)
    for action in actions:
        if isinstance(action, _CUT):
            return split(change)
    return [change]
