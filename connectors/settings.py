"""How a connector works."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Pace:
    """How often it looks, and how often it says what."""

    poll_interval_ms: int = 20
    """Between two looks at a log in which nothing happens."""
    progress_ms: int = 200
    transactions_s: float = 60.0
    """Between two reports of the open transactions."""
    hole_ms: int = 1_000
    """How long rows may be invisible, while later ones are there, before they count as missing."""
    retry_s_max: float = 10.0
