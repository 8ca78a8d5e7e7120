"""Decides who may ask a server: by tokens, or without them by where a request comes from and which
name it gives the server.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from starlette.types import Scope

from hive.errors import ForbiddenError
from query_api.http.access import OPEN, Access, Role, Tokens
from query_api.http.messages import header, is_json
from query_api.own_hosts import OwnHosts, is_loopback, name_in

_ADMINS_ONLY: Final = (
    "the Thrift server guards reads (thrift.relay_reads, thrift.relay_reads_of or "
    "thrift.authorization), and HTTP doesn't, so only administrators may read: "
)


_PASSED_ON: Final = frozenset(
    (b"forwarded", b"via", b"x-forwarded-for", b"x-forwarded-host", b"x-forwarded-proto")
)
"""What proxies add to a request."""

PEER: Final = "peer"
"""Marks in the state of a scope that a peer has proved its request."""
OPERATOR: Final = "operator"
"""Says in the state of such a scope whether the request is of an operator, who has the workers'
secret, too, and not of a peer's client."""


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
    3. A peer may ask whatever readers may, and an operator who has the workers' secret whatever
       administrators may: whoever has it can pass for a worker.
    4. Where the Thrift server guards reads (by lists, or by the metastore's hooks), which HTTP
       doesn't, readers must be administrators.
    """

    def __init__(
        self,
        tokens: Tokens = OPEN,
        names: Iterable[str] = (),
        *,
        admins_only: bool = False,
    ) -> None:
        """`names` are this server's own, beside its addresses."""
        self._tokens = tokens
        self._admins_only = admins_only
        self._own_hosts = OwnHosts(names)

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
        if is_peer(scope):
            # It has let its client in.
            return Holder(PEER, _address(scope))
        if self._admins_only:
            return self._administrator(scope, _ADMINS_ONLY)
        address = _address(scope)
        if self._tokens.are_known:
            role, name = self._holder(scope)
            return Holder(name, address) if role >= Role.READ else None
        self._own_hosts.require(
            header(scope, b"host") or b"",
            is_local=is_loopback(address),
            otherwise="configure tokens (reads.tokens_path)",
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
        origins. What a proxy on this machine passes on is of anybody, who may name that host, too.
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
        host = header(scope, b"host") or b""
        is_passed_on = any(name in _PASSED_ON for name, _ in scope["headers"])
        if is_passed_on or not (is_loopback(address) and is_loopback(name_in(host))):
            raise ForbiddenError(
                f"{why}without tokens (reads.tokens_path) only this machine may ask, by its own "
                "name and through no proxy, or whoever proves the workers' secret "
                "(worker.secret_file)"
            )
        if scope["method"] == "POST" and not is_json(header(scope, b"content-type")):
            raise ForbiddenError("send content-type: application/json")
        return Holder("local", address)

    def _holder(self, scope: Scope) -> tuple[Role, str]:
        return self._tokens.holder_of(header(scope, b"authorization"))


def is_peer(scope: Scope) -> bool:
    """Whether another worker asks, and has proved it."""
    return PEER in scope.get("state", {})


def _address(scope: Scope) -> str:
    client = scope.get("client")
    return "" if client is None else str(client[0])


def is_this_machine(scope: Scope) -> bool:
    """Whether a request comes from this machine."""
    return is_loopback(_address(scope))
