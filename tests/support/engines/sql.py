"""What engines that understand SQL have in common."""

from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True)
class Answer:
    """What a statement showed: its rows, or why it failed."""

    columns: tuple[tuple[str, str], ...] = ()
    """Names and types."""
    rows: tuple[Any, ...] = ()
    changed: int | None = None
    """The number of rows that it wrote."""
    error: str | None = None


class Session(Protocol):
    """A session of an engine."""

    def ask(self, statement: str) -> Answer:
        """Runs a statement to its end."""
        ...
