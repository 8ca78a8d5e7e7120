"""The log of a process of ours: warnings and what is worse, on stderr."""

import logging
import sys

import structlog


def configure() -> None:
    """Quiet and plain: by default a traceback shows the values of variables, passwords too."""
    structlog.configure(
        processors=[
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.dev.ConsoleRenderer(
                colors=False, exception_formatter=structlog.dev.plain_traceback
            ),
        ],
        wrapper_class=structlog.make_filtering_bound_logger(logging.WARNING),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
    )
