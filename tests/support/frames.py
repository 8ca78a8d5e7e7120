"""What a page costs the processor from frame to frame, by Chromium's own trace.

It is thread time: what other processes take of a busy machine doesn't count.
"""

from bisect import bisect
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from statistics import median
from time import thread_time
from typing import Any, Final

from tests.support.chromium import Chromium

_CATEGORIES: Final = ["devtools.timeline", "disabled-by-default-devtools.timeline"]
_MAIN_THREAD: Final = "CrRendererMain"
_USUAL_WORK_S: Final = 0.013


class Frames:
    """The frames that a page has shown."""

    def __init__(self) -> None:
        self.costs_ms: list[float] = []
        """For each frame, all tasks of the page's main thread since the frame before: scripts, and
        with them what the browser does about what they changed.
        """
        self.slowness = 1.0
        """How many times as long as on a usual machine this one took, and 1 at the least: another
        may be half as fast, and be the slower the more others use it.
        """

    def read(self, events: list[dict[str, Any]]) -> None:
        threads = {
            (event["pid"], event["tid"])
            for event in events
            if event["name"] == "thread_name" and event["args"]["name"] == _MAIN_THREAD
        }
        own = [event for event in events if (event["pid"], event["tid"]) in threads]
        shown = sorted(event["ts"] for event in own if event["name"] == "Commit")
        costs = Counter[int]()
        for event in own:
            if event["name"] == "RunTask" and event["ph"] == "X":
                costs[bisect(shown, event["ts"])] += event.get("tdur", 0)
        self.costs_ms = [cost / 1000 for cost in costs.values()]


def _slowness() -> float:
    return max(1.0, median(_work_s() for _ in range(5)) / _USUAL_WORK_S)


def _work_s() -> float:
    start = thread_time()
    sum(number * number for number in range(200_000))
    return thread_time() - start


@contextmanager
def frames(browser: Chromium) -> Iterator[Frames]:
    """Watches the page during the block; the frames are there behind it."""
    watched = Frames()
    trace = {"includedCategories": _CATEGORIES, "excludedCategories": ["*"]}
    before = _slowness()
    browser.call("Tracing.start", transferMode="ReportEvents", traceConfig=trace)
    yield watched
    watched.read(browser.end_trace())
    # Others may have begun or ended their work meanwhile.
    watched.slowness = max(before, _slowness())
