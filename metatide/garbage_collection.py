"""The collector of circular garbage, in processes that make next to none."""

import gc
from typing import Final

ROWS_AT_A_TIME: Final = 100_000
"""For processes through which rows and records come and go by the thousand."""


def collect_seldom(after: int = ROWS_AT_A_TIME) -> None:
    """Leaves out what is there now, and looks for garbage only after so many new objects.

    Nothing here is in a circle. To look for it costs a tenth of the time, and stops a process for
    as long as a hundred commits take.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(after)
