"""What a client speaks, by the first bytes that it sends."""

from enum import Enum, auto
from typing import Final

from query_api.thrift.sasl.handshake import START

_LENGTH_BYTES: Final = 4


class Transport(Enum):
    """How a client's messages travel.

    | first byte | fifth byte | transport |
    | --- | --- | --- |
    | 1 | | SASL: its START. A frame of 16 MiB would begin so, too, but no first call is as long. |
    | 0 | a letter or `_` | plain: a message without a version begins with the length of its name |
    | 0 | any other | framed: the length of a frame, and the beginning of a message |
    | any other | | plain: 128 begins the binary protocol, 130 the compact one; others are refused |
    """

    PLAIN = auto()
    FRAMED = auto()
    SASL = auto()


def transport_of(data: bytes) -> Transport | None:
    """The transport of a client; None until enough bytes have come, five at most."""
    if data[0] == START:
        return Transport.SASL
    if data[0]:
        return Transport.PLAIN
    if len(data) <= _LENGTH_BYTES:
        return None
    after = data[_LENGTH_BYTES : _LENGTH_BYTES + 1]
    return Transport.PLAIN if after.isalpha() or after == b"_" else Transport.FRAMED
