"""Garbage collection for processes that create almost no circular garbage."""

import gc
from typing import Final

ROWS_AT_A_TIME: Final = 100_000
"""The threshold for processes that handle thousands of rows or records at a time."""
CALLS_AT_A_TIME: Final = 10_000
"""The threshold for processes that answer calls, of which collections would be the longest
pauses."""


def collect_seldom(after: int = ROWS_AT_A_TIME) -> None:
    """Exempts existing objects from garbage collection, and makes collections rare.

    Metatide leaves no circular garbage. Looking for it costs a tenth of the time, and pauses the
    process for as long as a hundred commits take.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(after)
