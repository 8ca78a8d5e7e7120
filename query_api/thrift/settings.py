"""Settings of a deployment's Thrift server."""

import ssl
from collections.abc import Mapping

import msgspec

from hive.units import MIB
from query_api.thrift.http_transport.settings import HttpSettings
from query_api.thrift.sasl.mechanism import Mechanism


class ThriftSettings(msgspec.Struct, frozen=True):
    """How the server talks to clients, and their limits."""

    relay_reads: bool = False
    """Relay all calls to the metastore: for deployments that need its authorization hooks."""
    shadow: bool = False
    """Have the metastore answer, and compare the cache's answers with its replies."""
    slow_ms: int = 1000
    """Log calls that take longer; 0 logs none."""
    connections_max: int = 10_000
    message_bytes_max: int = 100 * MIB
    message_timeout_s: float = 60.0
    """How long a client may take to send a call, or stall while it reads a reply."""
    tls: ssl.SSLContext | None = None
    mechanisms: Mapping[str, Mechanism] = {}
    """By which mechanisms of SASL clients prove who they are; if there are any, they must."""
    http: HttpSettings = HttpSettings()
    """The same for clients of HTTP."""

    @property
    def needs_login(self) -> bool:
        """Whether clients must prove who they are, by whatever transport."""
        return bool(self.mechanisms or self.http.schemes)
