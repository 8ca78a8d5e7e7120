"""A clock for how old what was read may become."""

import time
from collections.abc import Callable
from functools import partial
from typing import Final


def _clock() -> Callable[[], float]:
    clock = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic if clock is None else partial(time.clock_gettime, clock)


elapsed_s: Final = _clock()
"""The seconds since some moment. Those that the machine was suspended for count, unlike by Linux'
monotonic clock: the metastore's database went on meanwhile."""
