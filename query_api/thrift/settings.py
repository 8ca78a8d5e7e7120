"""Settings of a deployment's Thrift server."""

import ssl
from typing import Final

import msgspec

MIB: Final = 1 << 20


class ThriftSettings(msgspec.Struct, frozen=True):
    """How the server talks to clients, and their limits."""

    framed: bool = False
    relay_reads: bool = False
    """All calls are the metastore's to answer: for those who need its authorization hooks."""
    shadow: bool = False
    """The metastore answers; what the cache would have said is compared with that."""
    slow_ms: int = 1000
    """Calls that take longer are logged; 0: none."""
    connections_max: int = 10_000
    message_bytes_max: int = 100 * MIB
    buffered_bytes_max: int = 512 * MIB
    """What all clients together may have sent of calls that haven't begun."""
    message_timeout_s: float = 60.0
    """How long a client may take to send a call, or not take what is sent to it."""
    tls: ssl.SSLContext | None = None
