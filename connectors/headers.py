"""What the Kafka headers of a record say, so that a topic can be searched without decoding it."""

from enum import StrEnum
from typing import NamedTuple

Headers = list[tuple[str, str | bytes | None]]


class RecordKind(StrEnum):
    """What a record is, by what it means for the position of its shard."""

    CHANGE = "change"
    """A whole change, or the last part of one: the shard is complete up to `upto`."""
    PART = "part"
    """A part of a change that others follow."""
    PROGRESS = "progress"
    """A change without actions: as a change."""
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
    event: str = ""
    """The type of the event in the log."""
    hash: bytes | None = None
    """Tells the row of event `upto` from another with its id."""

    @property
    def moves(self) -> bool:
        """Whether the shard is complete up to `upto` with it."""
        return self.kind in (RecordKind.CHANGE, RecordKind.PROGRESS)


def write(head: RecordHeaders) -> Headers:
    """The headers of a record."""
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
    """What headers say; None where they aren't those of a record of ours."""
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
