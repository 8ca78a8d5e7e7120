"""What a library of Kafka has logged last. Its exceptions often tell less than its log."""

import logging
from typing import Final

_THREAD_END: Final = "]: "
"""librdkafka writes the thread in brackets before what happened."""


class LastError(logging.Handler):
    """Keeps the last error that a logger gets."""

    text = ""

    def __init__(self) -> None:
        super().__init__(logging.ERROR)

    def emit(self, record: logging.LogRecord) -> None:
        self.text = record.getMessage().rpartition(_THREAD_END)[2]

    def logger(self) -> logging.Logger:
        """A logger of this handler alone, which nobody else sees."""
        logger = logging.Logger(__name__)
        logger.addHandler(self)
        return logger
