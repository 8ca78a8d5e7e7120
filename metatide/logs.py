"""The log of a process: warnings and errors, on stderr."""

import logging
import sys

import structlog


def configure() -> None:
    """Configures the log. Unlike structlog's default, its tracebacks don't show variables, which
    may contain passwords.
    """
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
