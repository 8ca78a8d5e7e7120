"""The collector of circular garbage, in processes that make next to none."""

import gc

_COLLECT_AFTER = 100_000


def collect_seldom() -> None:
    """Rows and records come and go by the thousand, and none is in a circle. To look for those
    costs a tenth of the time, and stops a process for as long as a hundred commits take."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_COLLECT_AFTER)
