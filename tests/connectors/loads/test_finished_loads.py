"""Which loads a topic holds completely."""

from typing import NamedTuple

import pytest

from connectors.loads import finished_loads
from connectors.loads.finished_loads import ended_scopes
from connectors.loads.kafka_sink import BEGIN, END
from connectors.publish import headers
from connectors.publish.headers import Headers, RecordHeaders, RecordKind
from hive.names import table_name
from state.records import AnyRecord, LoadBegin, LoadEnd, ResetTable, Scope, ScopeKind, encode
from state.topic import Topic

TABLE = table_name(None, "d", "t")
SCOPE = Scope(ScopeKind.TABLE, TABLE)
CHANGE = RecordHeaders(RecordKind.CHANGE, 1, 5, "INSERT", b"12345678")


class Message(NamedTuple):
    """A record of the only shard."""

    at: int
    head: RecordHeaders | None
    content: bytes

    def headers(self) -> Headers | None:
        return None if self.head is None else headers.write(self.head)

    def value(self) -> bytes:
        return self.content

    def partition(self) -> int:
        return 0

    def offset(self) -> int:
        return self.at


def ended(
    monkeypatch: pytest.MonkeyPatch, *records: tuple[RecordHeaders | None, AnyRecord | bytes]
) -> set[Scope]:
    messages = [
        Message(at, head, record if isinstance(record, bytes) else encode(record))
        for at, (head, record) in enumerate(records)
    ]
    monkeypatch.setattr(finished_loads, "_messages", lambda *_: iter(messages))
    return ended_scopes(Topic("nowhere", "t", 1), 1)


def begin(load: str = "load") -> tuple[RecordHeaders, AnyRecord]:
    return RecordHeaders(RecordKind.LOAD, 1, 0, BEGIN), LoadBegin(1, load, SCOPE)


def end(lo: int, load: str = "load") -> tuple[RecordHeaders, AnyRecord]:
    return RecordHeaders(RecordKind.LOAD, 1, 9, END), LoadEnd(1, load, SCOPE, lo, 9, 0)


CONTROL = RecordHeaders(RecordKind.CONTROL, 1)


def test_one_that_has_read_less_than_its_shard_had_does_not_count(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert ended(monkeypatch, (CHANGE, b""), begin(), end(5)) == {SCOPE}
    assert ended(monkeypatch, (CHANGE, b""), begin(), end(4)) == set()
    assert ended(monkeypatch, begin("first"), begin(), end(5, "first")) == set()


def test_an_order_to_forget_its_table_ends_it_and_what_can_not_be_read_does_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for unread in ((None, b"a stranger's"), (CONTROL, b"damaged"), (begin()[0], b"damaged")):
        assert ended(monkeypatch, begin(), unread, end(5)) == {SCOPE}
    forgotten = CONTROL, ResetTable(1, 3, TABLE, load=False)
    assert ended(monkeypatch, begin(), end(5), forgotten) == set()
