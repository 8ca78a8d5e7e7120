"""NOTIFICATION_LOG's MESSAGE ↔ JSON: plain, or gzip in base64, as MESSAGE_FORMAT says."""

import binascii
import gzip
import zlib
from base64 import b64decode, b64encode

from hive.errors import ThriftError

PLAIN = "json-0.2"
GZIP = "gzip(json-2.0)"
MESSAGE_BYTES_MAX = 64 * 1024 * 1024
"""A message names thousands of partitions in less. What is larger is loaded instead."""
_GZIP_HEADER = 16 + zlib.MAX_WBITS


def open_message(
    message: str, message_format: str | None, bytes_max: int = MESSAGE_BYTES_MAX
) -> str | bytes:
    """The JSON text of a message. Old rows have no format: their messages are plain."""
    if len(message) > bytes_max:
        raise _too_large(bytes_max)
    if message_format in (None, "", PLAIN):
        return message
    if message_format not in (GZIP, "gzip"):
        raise ThriftError(f"message format {message_format!r} is none that Hive 4 writes")
    return _unzip(message, bytes_max)


def _unzip(message: str, bytes_max: int) -> bytes:
    stream = zlib.decompressobj(_GZIP_HEADER)
    try:
        text = stream.decompress(b64decode(message, validate=True), bytes_max)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise ThriftError(f"no gzip in base64: {error}") from None
    if stream.unconsumed_tail:
        raise _too_large(bytes_max)
    if not stream.eof:
        raise ThriftError("its gzip ends too early")
    return text


def _too_large(bytes_max: int) -> ThriftError:
    return ThriftError(f"its message has more than {bytes_max} bytes")


def seal_message(text: bytes, message_format: str = GZIP) -> str:
    """The MESSAGE column for a JSON text."""
    if message_format == PLAIN:
        return text.decode()
    if message_format != GZIP:
        raise ThriftError(f"message format {message_format!r}: write {PLAIN} or {GZIP}")
    return b64encode(gzip.compress(text, mtime=0)).decode()
