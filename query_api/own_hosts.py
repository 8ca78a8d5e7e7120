"""The names by which a server without logins may be asked.

By DNS rebinding a page in a browser can have a name of its own lead to any address, and would ask
there with that browser's access to the network. It can't choose what the browser sends as `Host`.
"""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

from hive.errors import ForbiddenError

_LOCAL_NAMES: Final = frozenset(("localhost", "localhost.localdomain"))
_REMEMBERED: Final = 1024
_BYTES_MAX: Final = 261
"""Those of a name in DNS and of a port; hosts are remembered, so none may be longer."""
_SHOWN_MAX: Final = 100


class OwnHosts:
    """What no page of a stranger can have as its host."""

    def __init__(self, names: Iterable[str] = ()) -> None:
        """`names` are this server's own, beside its addresses."""
        self._names = frozenset(name.lower() for name in names)
        self._include = lru_cache(_REMEMBERED)(self._names_this_server)

    def require(self, host: bytes, *, is_local: bool, otherwise: str) -> None:
        """Raises ForbiddenError for a `Host` that a page of a stranger could have. `is_local` says
        whether the request comes from this machine; `otherwise`, what else would let it in.
        """
        if len(host) > _BYTES_MAX or not self._include(host, is_local):
            shown = host[:_SHOWN_MAX].decode("ascii", "backslashreplace")
            raise ForbiddenError(
                f"{shown!r} isn't known as a name of this server: ask it by an address, or list "
                f"the name in reads.hosts, or {otherwise}"
            )

    def _names_this_server(self, host: bytes, is_local: bool) -> bool:
        """Nobody else can have an address, or a name of this server. A name without dots is the
        network's own, so that pages from outside can't have it; on this machine there is no need
        for such a name.
        """
        name = name_in(host)
        if name in self._names or name in _LOCAL_NAMES or _is_address(name):
            return True
        return not is_local and name != "" and "." not in name


def name_in(host: bytes) -> str:
    """The name or address in a `Host` header, without its port; empty if it has none."""
    if b"@" in host or len(host) > _BYTES_MAX:
        return ""
    try:
        return (urlsplit(f"//{host.decode('ascii')}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


@lru_cache(_REMEMBERED)
def is_loopback(host: str) -> bool:
    """Whether a name or an address leads to this machine."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower() in _LOCAL_NAMES
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
