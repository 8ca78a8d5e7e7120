"""Decides who may ask a server: by tokens, or without them by where a request comes from and which
name it gives the server.
"""

import ipaddress
from collections.abc import Iterable
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from starlette.types import Scope

from hive.errors import ForbiddenError
from query_api.http.access import OPEN, Access, Role, Tokens
from query_api.http.messages import header, is_json

_LOCAL_NAMES: Final = frozenset(("localhost", "localhost.localdomain"))
_HOSTS_REMEMBERED: Final = 1024
_HOST_BYTES_MAX: Final = 261
"""Those of a name in DNS and of a port."""
_SHOWN_MAX: Final = 100
_NO_HOOKS: Final = (
    "the metastore's authorization guards reads (thrift.relay_reads, thrift.relay_reads_of or "
    "thrift.authorization), and HTTP doesn't ask it, so only administrators may read: "
)


PARTNER: Final = "partner"
"""Marks in the state of a scope that a partner has proved its request."""
OPERATOR: Final = "operator"
"""Says in the state of such a scope whether the request is of an operator, who has the workers'
secret, too, and not of a partner's client."""


class Holder(NamedTuple):
    """The caller."""

    name: str
    address: str


class Admission(NamedTuple):
    """Who else may send the same bytes as a caller who was let in."""

    version: int
    """That of the tokens."""
    local: bool
    remote: bool


class Gate:
    """Checks callers.

    1. If tokens are configured, they alone decide.
    2. Without them everybody may read. A page in a browser may not: by DNS rebinding a name of its
       own may lead here. So a request must name the server by what no such page can have.
    3. A partner may ask whatever readers may, and an operator who has the workers' secret whatever
       administrators may: whoever has it can pass for a worker.
    4. Where the metastore's hooks guard reads, which HTTP doesn't ask, readers must be
       administrators.
    """

    def __init__(
        self,
        tokens: Tokens = OPEN,
        names: Iterable[str] = (),
        *,
        hooks_guard_reads: bool = False,
    ) -> None:
        """`names` are this server's own, beside its addresses."""
        self._tokens = tokens
        self._names = frozenset(name.lower() for name in names)
        self._hooks_guard_reads = hooks_guard_reads
        self._is_own = lru_cache(_HOSTS_REMEMBERED)(self._names_this_server)

    def caller(self, scope: Scope, access: Access) -> Holder | None:
        """The caller; None if a reader's token is missing. Raises ForbiddenError for those who may
        not ask.
        """
        if access is Access.ADMINISTRATORS:
            return self._administrator(scope)
        if access is Access.READERS:
            return self.reader(scope)
        return Holder(self._holder(scope)[1], _address(scope))

    def reader(self, scope: Scope) -> Holder | None:
        """The reader; None if a token is missing. Raises ForbiddenError for those who may not
        read.
        """
        if is_partner(scope):
            # It has let its client in.
            return Holder(PARTNER, _address(scope))
        if self._hooks_guard_reads:
            return self._administrator(scope, _NO_HOOKS)
        address = _address(scope)
        if self._tokens.are_known:
            role, name = self._holder(scope)
            return Holder(name, address) if role >= Role.READ else None
        host = _host(scope)
        if not self._is_own(host, _is_loopback(address)):
            shown = host[:_SHOWN_MAX].decode("ascii", "backslashreplace")
            raise ForbiddenError(
                f"{shown!r} isn't known as a name of this server: ask it by an address, or list "
                "the name in reads.hosts, or configure tokens (reads.tokens_path)"
            )
        return Holder("", address)

    def may_read(self, scope: Scope) -> bool:
        try:
            return self.reader(scope) is not None
        except ForbiddenError:
            return False

    def admission(self, scope: Scope) -> Admission:
        """Who else may send the bytes of this reader's request."""
        callers = ({**scope, "client": (address, 0)} for address in ("127.0.0.1", "192.0.2.1"))
        return Admission(self._tokens.version, *map(self.may_read, callers))

    def admits(self, admission: Admission, *, is_local: bool) -> bool:
        """Whether a request of the same bytes is let in now."""
        if admission.version != self._tokens.version:
            return False
        return admission.local if is_local else admission.remote

    def _administrator(self, scope: Scope, why: str = "") -> Holder:
        """The name of an administrator; raises ForbiddenError for anybody else.

        An operator who has proved the workers' secret is one. Of others, the token must have the
        role `admin` if tokens are configured; otherwise only callers on this machine may
        administer. A page in a local browser could send such requests as well, so the request must
        name this machine as its host and be of type JSON, which browsers don't allow across
        origins.
        """
        address = _address(scope)
        if scope.get("state", {}).get(OPERATOR):
            return Holder(OPERATOR, address)
        if self._tokens.are_known:
            role, name = self._holder(scope)
            if role < Role.ADMIN:
                raise ForbiddenError(
                    f"{why}send a token of the role admin: Authorization: Bearer …"
                )
            return Holder(name, address)
        host = _host(scope)
        if not (_is_loopback(address) and _is_loopback(_name_in(host))):
            raise ForbiddenError(
                f"{why}without tokens (reads.tokens_path) only this machine may ask, by its own "
                "name, or who proves the workers' secret (worker.secret_file)"
            )
        if scope["method"] == "POST" and not is_json(header(scope, b"content-type")):
            raise ForbiddenError("send content-type: application/json")
        return Holder("local", address)

    def _holder(self, scope: Scope) -> tuple[Role, str]:
        return self._tokens.holder_of(header(scope, b"authorization"))

    def _names_this_server(self, host: bytes, is_local: bool) -> bool:
        """Whether no page of a stranger can have been loaded from this host.

        Nobody else can have an address, or a name of this server. A name without dots is the
        network's own, so that pages from outside can't have it; on this machine there is no need
        for such a name.
        """
        name = _name_in(host)
        if name in self._names or name in _LOCAL_NAMES or _is_address(name):
            return True
        return not is_local and name != "" and "." not in name


def is_partner(scope: Scope) -> bool:
    """Whether another worker asks, and has proved it."""
    return PARTNER in scope.get("state", {})


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


def _host(scope: Scope) -> bytes:
    """The `Host` header; empty if it is longer than any name, for hosts are remembered."""
    host = header(scope, b"host") or b""
    return host if len(host) <= _HOST_BYTES_MAX else b""


def _name_in(host: bytes) -> str:
    """The name or address in a `Host` header, without its port; empty if it has none."""
    if b"@" in host:
        return ""
    try:
        return (urlsplit(f"//{host.decode('ascii')}").hostname or "").removesuffix(".")
    except ValueError:
        return ""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True


@lru_cache(_HOSTS_REMEMBERED)
def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower() in _LOCAL_NAMES
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback


def is_this_machine(scope: Scope) -> bool:
    """Whether a request comes from this machine."""
    return _is_loopback(_address(scope))
