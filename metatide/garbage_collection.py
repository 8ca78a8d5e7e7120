"""Garbage collection for processes that create almost no circular garbage."""

import gc
from typing import Final

ROWS_AT_A_TIME: Final = 100_000
"""For processes through which rows and records come and go by the thousand."""


def collect_seldom(after: int = ROWS_AT_A_TIME) -> None:
    """Exempts existing objects from garbage collection, and makes collections rare.

    There are no circular references here. Looking for them costs a tenth of the time, and pauses
    the process for as long as a hundred commits take.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(after)
