"""Checks whether a caller may ask for an operation, and finds the name to log."""

import ipaddress
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from starlette.requests import Request

from hive.errors import ForbiddenError
from query_api.http.access import Access, Role, Tokens
from query_api.http.messages import header, is_json

_NAMES: Final = ("localhost", "localhost.localdomain")


class Holder(NamedTuple):
    """The caller."""

    name: str
    address: str


def caller(request: Request, access: Access, tokens: Tokens) -> Holder | None:
    """The caller; None if a reader's token is missing. Raises ForbiddenError for anybody but
    administrators where only they have access.
    """
    if access is Access.ADMINISTRATORS:
        return _administrator(request, tokens)
    role, name = tokens.holder_of(_authorization(request))
    if access is Access.READERS and role < Role.READ:
        return None
    return Holder(name, _address(request))


def _administrator(request: Request, tokens: Tokens) -> Holder:
    """The name of an administrator; raises ForbiddenError for anybody else.

    If tokens are configured, the token must have the role `admin`. Otherwise only callers on this
    machine may administer. A page in a local browser could send such requests as well, so the
    request must name this machine as its host and be of type JSON, which browsers don't allow
    across origins.
    """
    address = _address(request)
    if tokens.are_known:
        role, name = tokens.holder_of(_authorization(request))
        if role < Role.ADMIN:
            raise ForbiddenError("send a token of the role admin: Authorization: Bearer …")
        return Holder(name, address)
    if not (_is_loopback(address) and _is_loopback(_host(request))):
        raise ForbiddenError(
            "without tokens (reads.tokens_path) only this machine may ask, by its own name"
        )
    if request.method == "POST" and not is_json(header(request.scope, b"content-type")):
        raise ForbiddenError("send content-type: application/json")
    return Holder("local", address)


def _authorization(request: Request) -> bytes | None:
    text = request.headers.get("authorization")
    return None if text is None else text.encode("latin-1")


def _address(request: Request) -> str:
    return "" if request.client is None else request.client.host


def _host(request: Request) -> str:
    """The host that the caller named, without its port; empty if none can be read."""
    host = request.headers.get("host", "")
    if "@" in host:
        return ""
    try:
        return urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return ""


def _is_loopback(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host.lower() in _NAMES
    mapped = getattr(address, "ipv4_mapped", None)
    return (mapped or address).is_loopback
