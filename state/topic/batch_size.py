"""How many records to take at a time."""

from typing import Final

BYTES_MAX: Final = 8 << 20
RECORDS_MAX: Final = 1000


class BatchSize:
    """As many records as have about `BYTES_MAX` together, by the sizes of the last ones."""

    def __init__(self) -> None:
        self.records = RECORDS_MAX

    def adapt(self, records: int, bytes_: int) -> None:
        """Takes note of a batch that isn't empty."""
        mean = bytes_ // records
        self.records = max(1, min(RECORDS_MAX, BYTES_MAX // (mean + 1)))
