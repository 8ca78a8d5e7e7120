"""The framed transport, which puts a length before each piece of a message."""

from typing import Final

from hive.errors import ThriftError
from query_api.thrift.protocol.wire import I32

FRAME_BYTES_MAX: Final = (1 << 31) - 1


class Frames:
    """Adds the lengths to what is sent, and removes them from what is received; frames needn't
    coincide with messages.
    """

    held_bytes: Final = 0
    """What is received is passed on at once."""

    def __init__(self) -> None:
        self._left = 0
        self._head = b""

    def framed(self, data: bytes, more: bytes = b"") -> bytes:
        """Wraps these bytes in one frame."""
        return b"".join((I32.pack(len(data) + len(more)), data, more))

    def feed(self, data: bytes) -> bytes:
        """The bytes within the frames."""
        # Most clients send a call as one frame, and wait for its reply.
        if not self._left and not self._head and data[: I32.size] == I32.pack(len(data) - I32.size):
            return data[I32.size :]
        parts = []
        at = 0
        while at < len(data):
            if self._left:
                part = data[at : at + self._left]
                parts.append(part)
                self._left -= len(part)
                at += len(part)
                continue
            missing = I32.size - len(self._head)
            self._head += data[at : at + missing]
            at += missing
            if len(self._head) == I32.size:
                (self._left,) = I32.unpack(self._head)
                self._head = b""
                if self._left < 0:
                    raise ThriftError("a frame of negative length: the transport isn't framed")
        return b"".join(parts)
