"""The log of a process, on stderr."""

import logging
import sys
import time
from collections.abc import Callable, MutableMapping
from typing import Any, Final

import structlog
from structlog.typing import Processor

from metatide.config.schema import Log

EVERY_S: Final = 1.0
"""The least time between two lines for the same reason."""
_REASONS_MAX: Final = 10_000

_Line = MutableMapping[str, Any]


class OncePerSecond:
    """Leaves out lines for the same reason: of the same message, shard and `reason`.

    The next line for that reason tells how many were left out before it. A line that names who gave
    an order is always written.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._last: dict[tuple[object, ...], tuple[float, int]] = {}

    def __call__(self, _logger: object, _method: str, line: _Line) -> _Line:
        if "who" in line:
            return line
        reason, now = (line["event"], line.get("shard"), line.get("reason")), self._clock()
        written_at, left_out = self._last.get(reason, (-EVERY_S, 0))
        if now - written_at < EVERY_S:
            self._last[reason] = written_at, left_out + 1
            raise structlog.DropEvent
        if len(self._last) >= _REASONS_MAX:
            self._last.clear()
        self._last[reason] = now, 0
        if left_out:
            line["left_out"] = left_out
        return line


def configure(settings: Log | None = None) -> None:
    """Configures the log. Unlike structlog's default, its tracebacks don't show variables, which
    may contain passwords.
    """
    settings = settings or Log()
    is_console = sys.stderr.isatty() if settings.format is None else settings.format == "console"
    structlog.configure(
        processors=[
            OncePerSecond(),
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            *(_console() if is_console else _json()),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(
            logging.getLevelNamesMapping()[settings.level.upper()]
        ),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )


def _console() -> list[Processor]:
    return [
        structlog.dev.ConsoleRenderer(
            colors=False, exception_formatter=structlog.dev.plain_traceback
        )
    ]


def _json() -> list[Processor]:
    return [
        structlog.processors.format_exc_info,
        structlog.processors.JSONRenderer(default=str, ensure_ascii=False),
    ]
