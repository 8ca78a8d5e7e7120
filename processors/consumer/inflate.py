"""Inflates batches of records that came compressed, within a limit.

aiokafka inflates a batch however large it becomes, and copies it several times. Here the records
of a zipped batch beyond the limit come out empty. No record of the topic is empty, so each of them
is refused as a damaged one is, and the others of the batch are read. Batches of other codecs can
only be inflated at once: one beyond the limit is corrupt.
"""

import struct
import sys
import zlib
from typing import Any, Final

import cramjam
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
_TOO_LARGE: Final = "a compressed batch is too large, or can't be inflated"
_NO_KEY_VALUE_AND_HEADERS: Final = b"\x01\x00\x00"


_ROOM_BYTES_MIN: Final = 1 << 16
_ROOM_FACTOR: Final = 8
_XERIAL: Final = b"\x82SNAPPY\0"
_XERIAL_HEAD_BYTES: Final = 16
_BLOCK_SIZE: Final = struct.Struct("!i")


def limit_batches() -> None:
    """Lets aiokafka inflate batches by this module."""
    vars(sys.modules[DefaultRecordBatch.__module__]).update(
        gzip_decode=inflate,
        lz4_decode=inflate_lz4,
        snappy_decode=inflate_snappy,
        zstd_decode=inflate_zstd,
    )


def inflate_lz4(packed: bytes) -> bytes:
    return _inflate_at_once(cramjam.lz4, packed)


def inflate_zstd(packed: bytes) -> bytes:
    return _inflate_at_once(cramjam.zstd, packed)


def inflate_snappy(packed: bytes) -> bytes:
    """Inflates a text, or the blocks of one in the framing of Java's clients."""
    blocks: list[bytes] = []
    if packed.startswith(_XERIAL):
        at = _XERIAL_HEAD_BYTES
        while at < len(packed):
            (size,) = _BLOCK_SIZE.unpack_from(packed.ljust(at + _BLOCK_SIZE.size), at)
            at += _BLOCK_SIZE.size
            blocks.append(packed[at : at + max(1, size)])
            at += max(1, size)
    else:
        blocks.append(packed)
    try:
        if sum(map(cramjam.snappy.decompress_raw_len, blocks)) > BATCH_BYTES_MAX:
            raise CorruptRecordException(_TOO_LARGE)
        return b"".join(bytes(cramjam.snappy.decompress_raw(block)) for block in blocks)
    except cramjam.DecompressionError as error:
        raise CorruptRecordException(_TOO_LARGE) from error


def _inflate_at_once(codec: Any, packed: bytes) -> bytes:
    size = max(_ROOM_BYTES_MIN, _ROOM_FACTOR * len(packed))
    while True:
        room = bytearray(min(size, BATCH_BYTES_MAX))
        try:
            length = codec.decompress_into(packed, room)
        except cramjam.DecompressionError as error:
            if size >= BATCH_BYTES_MAX:
                raise CorruptRecordException(_TOO_LARGE) from error
            size *= _ROOM_FACTOR
        else:
            return bytes(memoryview(room)[:length])


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
