"""Inflates batches of records that came zipped, within a limit.

aiokafka inflates a batch however large it becomes, and copies it several times. Here the records
beyond the limit come out empty. No record of the topic is empty, so each of them is refused as a
damaged one is, and the others of the batch are read.
"""

import sys
import zlib
from typing import Final

from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch
from aiokafka.record.util import decode_varint, encode_varint

from state.topic.settings import RECORD_BYTES_MAX

BATCH_BYTES_MAX: Final = 2 * RECORD_BYTES_MAX
"""A producer of ours fills a batch up to the size of the largest record."""
EMPTIED_MAX: Final = 10_000
"""Beyond the limit there may be so many records; the batch is corrupt if there are more."""
_RECORD_BYTES_MIN: Final = 6
_PIECE_BYTES: Final = 1 << 20
# The size of a record and what stands before its key are six varints and a byte at most.
_HEAD_BYTES: Final = 64
_GZIP_HEADER: Final = 16 + zlib.MAX_WBITS
_NO_KEY_VALUE_AND_HEADERS: Final = b"\x01\x00\x00"


def limit_batches() -> None:
    """Lets aiokafka inflate batches by this module."""
    vars(sys.modules[DefaultRecordBatch.__module__])["gzip_decode"] = inflate


def inflate(packed: bytes | memoryview) -> bytes:
    """The records of a zipped batch; those beyond the limit are empty."""
    stream = zlib.decompressobj(_GZIP_HEADER)
    whole = stream.decompress(packed, BATCH_BYTES_MAX)
    if stream.eof:
        return whole
    del whole
    try:
        return _within_limit(_Inflating(packed))
    except (IndexError, ValueError) as error:
        raise CorruptRecordException("a zipped batch holds no records") from error


def _within_limit(stream: "_Inflating") -> bytes:
    batch, emptied = bytearray(), 0
    while head := stream.head():
        size, start = decode_varint(head, 0)
        if size < _RECORD_BYTES_MIN or emptied > EMPTIED_MAX:
            raise CorruptRecordException("a zipped batch is too large, or holds no records")
        if len(batch) + start + size <= BATCH_BYTES_MAX:
            batch += stream.take(start + size)
        else:
            emptied += 1
            batch += _emptied(head, start)
            stream.skip(start + size)
    return bytes(batch)


def _emptied(head: bytearray, start: int) -> bytes:
    """A record with the time and offset of the one whose contents begin at `start`."""
    _, after_time = decode_varint(head, start + 1)
    _, after_offset = decode_varint(head, after_time)
    contents = bytes(head[start:after_offset]) + _NO_KEY_VALUE_AND_HEADERS
    size = bytearray()
    encode_varint(len(contents), size.append)
    return bytes(size) + contents


class _Inflating:
    """A zipped text that is inflated as it is read."""

    def __init__(self, packed: bytes | memoryview) -> None:
        self._stream = zlib.decompressobj(_GZIP_HEADER)
        self._packed: bytes | memoryview = packed
        self._ready = bytearray()

    def head(self) -> bytearray:
        """The next bytes, which stay to be taken; fewer at the end."""
        self._fill(_HEAD_BYTES)
        return self._ready[:_HEAD_BYTES]

    def take(self, count: int) -> bytearray:
        self._fill(count)
        taken = self._ready[:count]
        del self._ready[:count]
        return taken

    def skip(self, count: int) -> None:
        while count > 0:
            self._fill(min(count, _PIECE_BYTES))
            if not self._ready:
                return
            count -= len(self.take(min(count, len(self._ready))))

    def _fill(self, count: int) -> None:
        while len(self._ready) < count and not self._stream.eof:
            piece = self._stream.decompress(self._packed, _PIECE_BYTES)
            self._packed = self._stream.unconsumed_tail
            if not piece and not self._packed:
                return
            self._ready += piece
