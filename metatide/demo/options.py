"""Options of the workload: its size, speed and duration."""

from dataclasses import dataclass
from enum import Enum

from hive.errors import InputError


class Release(Enum):
    """The release of Hive whose messages the workload writes."""

    HIVE_4_0 = "4.0"
    HIVE_4_2 = "4.2"


@dataclass(frozen=True)
class Size:
    """The initial size of the catalog."""

    tables: int = 100
    partitions: int = 2_000
    column_layouts: int = 40
    skew: float = 1.0
    """The exponent of Zipf's law, which spreads partitions and changes over tables."""

    def __post_init__(self) -> None:
        _check("tables", self.tables, 1, 1_000_000)
        _check("partitions", self.partitions, 0, 100_000_000)
        _check("column layouts", self.column_layouts, 1, 1_000_000)
        _check("skew", self.skew, 0, 5)


@dataclass(frozen=True)
class Limits:
    """When a run ends, and its maximum rate; None means no limit."""

    events: int | None = None
    seconds: float | None = None
    events_per_s: float | None = None
    writers: int = 4

    def __post_init__(self) -> None:
        _check("writers", self.writers, 1, 64)
        for what, value in (
            ("events", self.events),
            ("seconds", self.seconds),
            ("events per second", self.events_per_s),
        ):
            if value is not None:
                _check(what, value, 1e-3, 1e12)


def _check(what: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:
        raise InputError(f"demo: {what} is {value}; give between {low} and {high}")
