"""The compact protocol of a client, whose calls and replies are in the binary one here."""

import sys
from typing import Final

from query_api.thrift.protocol.compact_reader import CompactReader
from query_api.thrift.protocol.compact_writer import compact
from query_api.thrift.protocol.scanner import READ_STEPS_MAX, STEPS_MAX, Scanner
from query_api.thrift.protocol.wire import Fault, Message, refusal
from query_api.thrift.sasl.mechanism import Layer

REPLY_BYTES_MAX: Final = 16 * 1024 * 1024
_TOO_LARGE: Final = (
    f"a reply of more than {READ_STEPS_MAX:,} values or {REPLY_BYTES_MAX >> 20} MiB isn't given in "
    "the compact protocol: use the binary one"
)


class CompactLayer:
    """Translates calls and replies. Other clients wait meanwhile, so both are limited."""

    def __init__(self, beneath: Layer | None, message_bytes_max: int) -> None:
        """`beneath` is what the messages travel in."""
        self._beneath = beneath
        self._reader = CompactReader(message_bytes_max, STEPS_MAX)
        self._scanner = Scanner(sys.maxsize)
        self._reply = bytearray()
        self._is_too_large = False

    @property
    def held_bytes(self) -> int:
        beneath = 0 if self._beneath is None else self._beneath.held_bytes
        return beneath + self._reader.held_bytes

    def feed(self, data: bytes) -> bytes:
        return self.read(data if self._beneath is None else self._beneath.feed(data))

    def read(self, data: bytes) -> bytes:
        """The calls in what has come out of the layer beneath."""
        return self._reader.feed(data)

    def framed(self, data: bytes, more: bytes = b"") -> bytes:
        """The replies that are complete with these bytes."""
        data, replies, at = data + more, bytearray(), 0
        while at < len(data):
            end = self._scanner.feed(data, at)
            self._keep(data[at:] if end < 0 else data[at:end])
            if end < 0:
                break
            at = end
            replies += compact(self._whole_reply())
        if not replies or self._beneath is None:
            return bytes(replies)
        return self._beneath.framed(bytes(replies))

    def _keep(self, piece: bytes) -> None:
        size = len(self._reply) + len(piece)
        if size > REPLY_BYTES_MAX or self._scanner.steps > READ_STEPS_MAX:
            self._is_too_large = True
            self._reply.clear()
        if not self._is_too_large:
            self._reply += piece

    def _whole_reply(self) -> Message:
        scanner = self._scanner
        reply, body_at, kind = bytes(self._reply), scanner.body_at, scanner.kind
        if self._is_too_large:
            reply = refusal(scanner.method, scanner.sequence, Fault.INTERNAL_ERROR, _TOO_LARGE)
            own = Scanner(sys.maxsize)
            own.feed(reply)
            body_at, kind = own.body_at, own.kind
        self._reply.clear()
        self._is_too_large = False
        return Message(reply, scanner.method, kind, scanner.sequence, body_at, 0)
