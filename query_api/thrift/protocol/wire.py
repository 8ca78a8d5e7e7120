"""Messages of the binary protocol: their headers, and the server's own replies."""

from enum import IntEnum
from struct import Struct
from typing import Final, NamedTuple

NAME_BYTES_MAX: Final = 128
"""The maximum length of a method's name; no method of a metastore has half of it."""
I32: Final = Struct("!i")
VERSION: Final = b"\x80\x01\x00"
REPLY_HEAD: Final = VERSION + b"\x02"
STOP: Final = b"\x00"
_TEXT_FIELD, _I32_FIELD = b"\x0b", b"\x08"


class MessageType(IntEnum):
    """The type of a message."""

    CALL = 1
    REPLY = 2
    EXCEPTION = 3
    ONEWAY = 4
    """A call whose client awaits no reply."""


class Fault(IntEnum):
    """The kinds of TApplicationException that are sent from here."""

    UNKNOWN_METHOD = 1
    INTERNAL_ERROR = 6
    PROTOCOL_ERROR = 7


class Message(NamedTuple):
    """A whole message as it was received."""

    data: bytes
    method: str
    kind: int
    sequence: bytes
    """Four bytes, which the reply repeats."""
    body_at: int
    steps: int
    """About the number of values in it."""

    @property
    def body(self) -> bytes:
        """The struct: arguments or a result."""
        return self.data[self.body_at :]


def header(kind: MessageType, method: str, sequence: bytes) -> bytes:
    """The bytes before the struct of a message."""
    name = method.encode()
    return b"".join((VERSION, bytes((kind,)), I32.pack(len(name)), name, sequence))


def refusal(method: str, sequence: bytes, fault: Fault, why: str) -> bytes:
    """A whole message with an exception from the server itself."""
    return header(MessageType.EXCEPTION, method, sequence) + application_exception(fault, why)


def application_exception(fault: Fault, why: str) -> bytes:
    """A TApplicationException."""
    text = why.encode()
    return b"".join(
        (
            _TEXT_FIELD + b"\x00\x01" + I32.pack(len(text)) + text,
            _I32_FIELD + b"\x00\x02" + I32.pack(fault),
            STOP,
        )
    )
