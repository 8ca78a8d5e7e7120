"""The settings of a connector."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """The intervals at which a connector polls and reports."""

    poll_interval_ms: int = 40
    """The longest rest between two polls of an idle log."""
    progress_ms: int = 200
    transactions_s: float = 60.0
    """The time between two reports of the open transactions."""
    gap_ms: int = 1_000
    """How long rows may be invisible, while later ones are there, before they count as missing."""
    retry_s_max: float = 2.0
    """The longest rest after a fault: what changes meanwhile is answered by the database."""
    acknowledged_s_max: float = 1.0
    """How long brokers may take for what was read, until it is compared with the log again. No
    database is put back and writes as many events again in less time."""
