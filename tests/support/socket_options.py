"""The options of sockets that notice when the host at the other end has vanished."""

import os
import socket
from typing import Final

from hive.reader.lost_hosts import GONE_MS, PROBED_AFTER_S, PROBED_EVERY_S, PROBES

NOTICING: Final = {
    "SO_KEEPALIVE": 1,
    "TCP_USER_TIMEOUT": GONE_MS,
    "TCP_KEEPIDLE": PROBED_AFTER_S,
    "TCP_KEEPINTVL": PROBED_EVERY_S,
    "TCP_KEEPCNT": PROBES,
}


def options_of(file: int) -> dict[str, int]:
    """The options of the socket with this file descriptor."""
    with socket.socket(fileno=os.dup(file)) as used:
        tcp = {
            name: used.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
            for name in NOTICING
            if name.startswith("TCP_")
        }
        return {"SO_KEEPALIVE": used.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE), **tcp}
