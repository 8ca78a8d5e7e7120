"""Takes records from a consumer in batches of few bytes."""

from typing import Final

from confluent_kafka import Consumer, Message

BYTES_MAX: Final = 8 << 20
RECORDS_MAX: Final = 1000
_RECORDS_AT_FIRST: Final = 16
"""So many of the largest records that loads write have `BYTES_MAX`."""


class BatchSize:
    """As many records as have about `BYTES_MAX` together, by the sizes of the last ones."""

    def __init__(self) -> None:
        self.records = _RECORDS_AT_FIRST

    def adapt(self, records: int, bytes_: int) -> None:
        """Takes note of a batch that isn't empty."""
        mean = bytes_ // records
        self.records = max(1, min(RECORDS_MAX, BYTES_MAX // (mean + 1)))


def take_arrived(consumer: Consumer, records_max: int, wait_s: float) -> list[Message]:
    """Takes what has arrived; waits for the first record alone.

    Whoever waited for the others would get all that comes meanwhile, and it may be a hundred times
    as large as what came before; the consumer's queue is bounded.
    """
    messages = consumer.consume(1, wait_s)
    if messages and records_max > 1:
        messages += consumer.consume(records_max - 1, 0)
    return messages
