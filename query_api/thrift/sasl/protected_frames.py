"""Frames whose content Kerberos protects, as SASL's auth-int and auth-conf have them."""

from typing import Any

from gssapi.exceptions import GSSError

from hive.errors import ThriftError
from query_api.thrift.protocol.wire import I32


class ProtectedFrames:
    """Protects what is sent, and checks what is received, by the key of a session."""

    def __init__(
        self, context: Any, *, encrypts: bool, sent_bytes_max: int, received_bytes_max: int
    ) -> None:
        """`sent_bytes_max` is what the client takes in a frame, `received_bytes_max` what may come
        in one.
        """
        self._context = context
        self._encrypts = encrypts
        self._received_bytes_max = received_bytes_max
        self._piece_bytes = context.get_wrap_size_limit(sent_bytes_max, encrypts)
        self._received = bytearray()

    @property
    def held_bytes(self) -> int:
        return len(self._received)

    def framed(self, data: bytes, more: bytes = b"") -> bytes:
        data, step = data + more, self._piece_bytes
        return b"".join(self._frame(data[at : at + step]) for at in range(0, len(data), step))

    def feed(self, data: bytes) -> bytes:
        received, parts = self._received, []
        received += data
        at = 0
        while len(received) - at >= I32.size:
            (size,) = I32.unpack_from(received, at)
            if not 0 <= size <= self._received_bytes_max:
                raise ThriftError(f"a protected frame of {size} bytes")
            end = at + I32.size + size
            if len(received) < end:
                break
            parts.append(self._content(bytes(received[at + I32.size : end])))
            at = end
        del received[:at]
        return b"".join(parts)

    def _frame(self, piece: bytes) -> bytes:
        token: bytes = self._context.wrap(piece, self._encrypts).message
        return I32.pack(len(token)) + token

    def _content(self, token: bytes) -> bytes:
        try:
            content = self._context.unwrap(token)
        except GSSError as error:
            raise ThriftError("a frame that the session's key doesn't protect") from error
        if self._encrypts and not content.encrypted:
            raise ThriftError("a frame that isn't encrypted, where all are to be")
        data: bytes = content.message
        return data
