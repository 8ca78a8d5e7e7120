"""The need of a caller, and the answer."""

from dataclasses import dataclass, replace
from typing import Generic, Literal, NamedTuple, TypeVar

T = TypeVar("T")

Consistency = Literal["any", "at_least", "write_ids", "within", "latest"]

WRITE_IDS = "Metatide-Write-Ids"


class Position(NamedTuple):
    """How far an answer reflects the history of the metastore."""

    epoch: int
    event: int

    def __str__(self) -> str:
        return f"{self.epoch}:{self.event}"

    @classmethod
    def parse(cls, text: str) -> "Position":
        epoch, event = text.split(":")
        return cls(int(epoch), int(event))


@dataclass(frozen=True)
class Need:
    """The requirement of a read; the server decides what isn't set."""

    consistency: Consistency | None = None
    write_ids: str | None = None
    table_id: int | None = None
    accept_newer: bool = False
    min_position: Position | None = None
    max_wait_ms: int | None = None
    max_age_ms: int | None = None
    """With `within`: how much older than the request the answer may be."""

    def at_least(self, position: Position | None) -> "Need":
        """The same need, with at least this position."""
        if position is None or (self.min_position is not None and self.min_position >= position):
            return self
        return replace(self, min_position=position)

    @property
    def headers(self) -> dict[str, str]:
        consistency: str | None = self.consistency
        if self.max_age_ms is not None:
            consistency = f"{consistency or 'within'}; max_age_ms={self.max_age_ms}"
        values = {
            "Metatide-Consistency": consistency,
            WRITE_IDS: self.write_ids,
            "Metatide-Table-Id": self.table_id,
            "Metatide-Accept-Newer": "true" if self.accept_newer else None,
            "Metatide-Min-Position": self.min_position,
            "Metatide-Max-Wait-Ms": self.max_wait_ms,
        }
        return {name: str(value) for name, value in values.items() if value is not None}


@dataclass(frozen=True)
class Answer(Generic[T]):
    """A value, and the grounds on which it was given."""

    value: T
    source: str
    """`cache` or `database`."""
    reason: str
    position: Position
    """The value reflects all changes up to this position."""
    detail: str = ""
    next: str | None = None
    """The last name of this page; None if it is the last page."""
