"""What a publisher sends, and what it spares."""

from typing import cast

from connectors.metrics import Metrics
from connectors.publish.headers import Headers, RecordKind, read
from connectors.publish.published_history import PublishedEvent
from connectors.publish.publisher import Publisher
from connectors.publish.sender import Sender
from connectors.publish.tails import Tails
from state.records import Change, decode
from state.records.actions import AbortTxn, PutPartitions
from state.records.parts import ITEM_BYTES, PART_BYTES_MAX
from state.topic import Topic
from tests.processors.fold.shard import TABLE, partition

TOPIC = Topic("nowhere", "events", 2)


class Sent:
    """Keeps what is sent."""

    def __init__(self) -> None:
        self.records: list[tuple[int, Change, RecordKind]] = []

    def send(self, _: str, shard: int, value: bytes, written: Headers) -> None:
        head, record = read(written), decode(value)
        assert head is not None
        assert isinstance(record, Change)
        self.records.append((shard, record, head.kind))

    def serve(self) -> None:
        pass


def publishing(sent: Sent, *uptos: int) -> Publisher:
    tails = Tails(0, uptos, PublishedEvent(max(uptos), None), (), ())
    return Publisher(TOPIC, cast(Sender, sent), tails, Metrics())


def test_a_large_change_is_sent_in_parts() -> None:
    sent = Sent()
    rows = tuple(partition(str(number), b"x" * 100_000) for number in range(30))
    publishing(sent, 4).event(
        5, "ADD_PARTITION", b"h", 0, {0: (PutPartitions(TABLE, 0, rows, added=True),)}
    )
    *parts, last = sent.records
    assert [kind for _, _, kind in parts] == [RecordKind.PART] * len(parts)
    assert last[2] is RecordKind.CHANGE
    assert [record.part for _, record, _ in sent.records] == list(range(last[1].parts))
    assert len(parts) > 0


def test_very_many_small_actions_are_cut_too() -> None:
    sent = Sent()
    count = PART_BYTES_MAX // ITEM_BYTES + 1
    publishing(sent, 4).event(5, "ABORT_TXN", b"h", 0, {0: tuple(map(AbortTxn, range(count)))})
    assert [len(record.actions) for _, record, _ in sent.records] == [count - 1, 1]


def test_a_shard_that_has_what_is_skipped_is_told_nothing() -> None:
    sent = Sent()
    behind = publishing(sent, 4, 9)
    behind.skip(7)
    assert sent.records == [(0, Change(0, 7, 7), RecordKind.PROGRESS)]
    assert list(behind.uptos) == [7, 9]
