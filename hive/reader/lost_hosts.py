"""Options of sockets by which a connection to a host that has vanished ends within seconds.

A client that waits for an answer sends nothing, so by its defaults the kernel would notice a
vanished server only after two hours, and give up unacknowledged data only after a quarter of an
hour. A long statement or call isn't affected: the server's kernel answers the probes.
"""

import socket
from collections.abc import Mapping
from typing import Any, Final

GONE_MS: Final = 10_000
"""A host that confirms nothing for this long is gone."""
PROBED_AFTER_S: Final = 10
"""A connection on which nothing was heard for this long is probed."""
PROBED_EVERY_S: Final = 3
PROBES: Final = 3

_LIBPQ: Final = {
    "tcp_user_timeout": GONE_MS,
    "keepalives": 1,
    "keepalives_idle": PROBED_AFTER_S,
    "keepalives_interval": PROBED_EVERY_S,
    "keepalives_count": PROBES,
}


def libpq_settings(query: Mapping[str, object]) -> dict[str, int]:
    """The settings of a connection to PostgreSQL that its URL's query doesn't set itself."""
    return {name: value for name, value in _LIBPQ.items() if name not in query}


def notice_lost_server(connection: Any, _: object) -> None:
    """Sets the same options on a new connection of PyMySQL, which has no settings for them."""
    # PyMySQL has no other name for its socket.
    notice_lost_host(connection._sock)  # noqa: SLF001


def notice_lost_host(used: socket.socket) -> None:
    """Sets the same options on a socket."""
    if used.family == socket.AF_UNIX:
        return
    used.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in (
        (socket.TCP_USER_TIMEOUT, GONE_MS),
        (socket.TCP_KEEPIDLE, PROBED_AFTER_S),
        (socket.TCP_KEEPINTVL, PROBED_EVERY_S),
        (socket.TCP_KEEPCNT, PROBES),
    ):
        used.setsockopt(socket.IPPROTO_TCP, option, value)
