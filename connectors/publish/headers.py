"""The Kafka headers of a record, which let a topic be searched without decoding its records."""

from enum import StrEnum
from typing import NamedTuple

Headers = list[tuple[str, str | bytes | None]]


class RecordKind(StrEnum):
    """The kind of a record: how it moves the position of its shard."""

    CHANGE = "change"
    """A whole change or the last part of one: the shard is complete up to `upto`."""
    PART = "part"
    """A part of a change, but not the last."""
    PROGRESS = "progress"
    """A change without actions; it moves the position too."""
    RESET = "reset"
    """A new epoch begins after `upto`."""
    TRANSACTIONS = "transactions"
    LOAD = "load"
    CONTROL = "control"


class RecordHeaders(NamedTuple):
    """The headers of a record. Ids and epochs are decimal, for other tools to read."""

    kind: RecordKind
    epoch: int
    upto: int = 0
    """The event that a change reaches, or the last one that a load has seen, in its end."""
    event: str = ""
    """The type of the event in the log."""
    hash: bytes | None = None
    """The hash of event `upto`'s row, to distinguish it from another row with the same id."""

    @property
    def moves(self) -> bool:
        """Whether this record makes the shard complete up to `upto`."""
        return self.kind in (RecordKind.CHANGE, RecordKind.PROGRESS)

    @property
    def sets_position(self) -> bool:
        """Whether the shard stands at `upto` after this record: it moves there, or a new epoch
        begins."""
        return self.moves or self.kind is RecordKind.RESET


def write(head: RecordHeaders) -> Headers:
    """Encodes the headers of a record."""
    headers: Headers = [
        ("kind", head.kind.encode()),
        ("epoch", b"%d" % head.epoch),
        ("upto", b"%d" % head.upto),
    ]
    if head.event:
        headers.append(("event", head.event.encode()))
    if head.hash is not None:
        headers.append(("hash", head.hash))
    return headers


def read(headers: Headers | dict[str, str | bytes | None] | None) -> RecordHeaders | None:
    """Decodes headers; None when they don't belong to a record of ours."""
    pairs = headers.items() if isinstance(headers, dict) else headers or ()
    fields = {name: value for name, value in pairs if isinstance(value, bytes)}
    try:
        return RecordHeaders(
            RecordKind(fields["kind"].decode()),
            int(fields["epoch"]),
            int(fields["upto"]),
            fields.get("event", b"").decode(),
            fields.get("hash"),
        )
    except (KeyError, ValueError):
        return None
