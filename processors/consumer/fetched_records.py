"""The records of a partition that a fetch of the live consumer brought.

aiokafka raises where a batch is damaged or can't be inflated. That ends the consumer of all shards,
again at each start. Here such a batch comes out as one empty record. No record of the topic is
empty, so its shard stops following, meets the batch in the bulk replay and says what it found.
Where a batch's length is damaged, nobody knows where the next one begins: the rest of the fetch
is left out.
"""

import sys
import time
from collections.abc import Iterator
from typing import Any

from aiokafka.consumer.fetcher import Fetcher, PartitionRecords
from aiokafka.errors import CorruptRecordException, KafkaError
from aiokafka.structs import ConsumerRecord

_CREATE_TIME = 0


class FetchedRecords(PartitionRecords):  # type: ignore[misc]
    """Iterates over the records of one partition. Our topics have no aborted transactions."""

    next_fetch_offset: int

    def _unpack_records(self) -> Iterator[Any]:
        batches = self._records
        while batches.has_next():
            try:
                batch = batches.next_batch()
            except KafkaError:
                yield self._unreadable()
                self.next_fetch_offset += 1
                return
            next_offset = batch.next_offset
            try:
                if not batch.is_control_batch:
                    yield from self._records_of(batch)
            except KafkaError:
                # What follows in the topic is read as if it were there.
                yield self._unreadable()
            self.next_fetch_offset = max(self.next_fetch_offset, next_offset)

    def _records_of(self, batch: Any) -> Iterator[Any]:
        if not batch.validate_crc():
            raise CorruptRecordException(f"a batch of {self._tp} has another checksum")
        for record in batch:
            if record.offset >= self.next_fetch_offset:
                self.next_fetch_offset = record.offset + 1
                yield self._consumer_record(self._tp, record)

    def _unreadable(self) -> Any:
        offset = self.next_fetch_offset
        now_ms = int(time.time() * 1_000)
        place = self._tp.topic, self._tp.partition, offset
        return ConsumerRecord(*place, now_ms, _CREATE_TIME, None, b"", None, -1, 0, ())


def read_past_damage() -> None:
    """Lets aiokafka's consumers read by this module."""
    vars(sys.modules[Fetcher.__module__])["PartitionRecords"] = FetchedRecords
