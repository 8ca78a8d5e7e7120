"""The topic of heartbeats: what each connector says of itself every second."""

from typing import Final

import msgspec

from hive.errors import UNDECODABLE, RecordFormatError

EVERY_S: Final = 1.0
"""The time between two heartbeats of a connector."""
_FORMAT_VERSION: Final = 1
_PREFIX: Final = bytes((_FORMAT_VERSION,))


class Heartbeat(msgspec.Struct, frozen=True, kw_only=True):
    """A connector as it describes itself. Times are by its own clock, which nobody compares."""

    name: str
    host: str
    """The machine that it runs on; together with the name it tells connectors apart."""
    address: str
    """The HOST:PORT of its /metrics and /healthz."""
    epoch: int = 0
    position: int = 0
    """The last event that it has published."""
    sequence: int = 0
    """The last event that it saw in the database."""
    polled_s_ago: float = 0.0
    """How long ago it last read the log and published what was new; if never, how long ago it
    began."""
    loads_waiting: int = 0
    loads_running: int = 0
    partitions_loaded: int = 0
    """How many partitions it has loaded since it began."""
    leads: int = 0
    """The partitions of the signals topic that are its own: it answers the requests in these."""
    partitions: int = 0
    """The partitions that the signals topic has."""
    fault: str | None = None
    ended: bool = False
    """Whether this heartbeat is its last, because it was stopped."""


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Heartbeat)


def encode_heartbeat(heartbeat: Heartbeat) -> bytes:
    """Encodes the value of a message of the topic of heartbeats."""
    return _PREFIX + _encoder.encode(heartbeat)


def decode_heartbeat(value: bytes) -> Heartbeat:
    """Decodes a message's value; refuses other format versions, and bytes that aren't one."""
    if value[:1] != _PREFIX:
        raise RecordFormatError(f"a heartbeat can't begin with {value[:1]!r}")
    try:
        return _decoder.decode(memoryview(value)[1:])
    except UNDECODABLE as error:
        raise RecordFormatError(f"a heartbeat can't be read: {error}") from error
