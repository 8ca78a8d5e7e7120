"""Reports the rate of a run: on a terminal as a line that is updated, in a pipe as JSON lines."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from types import MappingProxyType

import click
from rich.live import Live

from metatide.process.consoles import PlainConsole

INTERVAL_S = 1.0

Counts = Mapping[str, Callable[[], int]]
"""Further figures to report, by name."""


class Report:
    """Counts events, and their rate since the last report and overall."""

    def __init__(self, what: str, count: Callable[[], int], beside: Counts) -> None:
        self._what = what
        self._count = count
        self._beside = beside
        self._begin = self._last_time = time.monotonic()
        self._last = 0

    def look(self) -> dict[str, float]:
        """The current figures."""
        now, count = time.monotonic(), self._count()
        figures = {
            "seconds": round(now - self._begin, 1),
            self._what: count,
            f"{self._what}_per_s": round((count - self._last) / max(now - self._last_time, 1e-9)),
            f"{self._what}_per_s_mean": round(count / max(now - self._begin, 1e-9)),
            **{name: tell() for name, tell in self._beside.items()},
        }
        self._last_time, self._last = now, count
        return figures

    def line(self) -> str:
        """The current figures as text."""
        seconds, count, rate, mean, *_ = self.look().values()
        return f"{seconds:8.1f} s {count:12,} {self._what} {rate:10,.0f}/s   mean {mean:,.0f}/s"


@contextmanager
def reporting(
    what: str,
    count: Callable[[], int],
    beside: Counts = MappingProxyType({}),
    *,
    stop_unread: Callable[[], None] | None = None,
) -> Iterator[None]:
    """Prints the rate to stdout every second, and once more at the end. Raises OSError at the end
    if it can't be printed; `stop_unread` is called as soon as it can't.
    """
    report, console, ended = Report(what, count, beside), PlainConsole(), threading.Event()
    if console.is_terminal:
        with Live(get_renderable=report.line, console=console, refresh_per_second=1):
            yield
        return

    faults: list[OSError] = []

    def show() -> None:
        try:
            while not ended.wait(INTERVAL_S):
                click.echo(json.dumps(report.look()))
        except OSError as fault:
            faults.append(fault)
            if stop_unread is not None:
                stop_unread()

    thread = threading.Thread(target=show, daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        if not faults:
            click.echo(json.dumps(report.look()))
    if faults:
        raise faults[0]
