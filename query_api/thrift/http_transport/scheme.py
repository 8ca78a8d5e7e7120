"""How clients prove by a header of HTTP who they are."""

import hashlib
import hmac
import secrets
from collections.abc import Mapping
from time import monotonic
from typing import Final, NamedTuple, Protocol

from hive.errors import RefusedLoginError
from query_api.thrift.sasl.mechanism import Identity

CREDENTIALS_BYTES_MAX: Final = 32 * 1024
_KEY: Final = secrets.token_bytes(32)


class Proof(NamedTuple):
    """What credentials prove."""

    user: str
    valid_s: float = 0.0
    """How long the same credentials need no other check on this connection."""
    answer: str = ""
    """What proves to the client in turn who the server is."""
    principal: str = ""
    """The user's name as metastores know it, if that's longer."""


class Scheme(Protocol):
    """A scheme that the server offers."""

    @property
    def kind(self) -> str:
        """Its name in the metrics."""
        ...

    def challenge(self, why: str) -> str:
        """What asks a client for it; `why` says what was wrong with its credentials, if any."""
        ...

    async def check(self, credentials: str, /) -> Proof:
        """Raises RefusedLoginError if the credentials don't prove what they should."""
        ...


class Credentials(NamedTuple):
    """The content of an `Authorization` header."""

    scheme: str
    """Its name in lower case."""
    value: str


class Remembered:
    """The last credentials of a connection that were accepted, which aren't checked again for a
    while. Only a keyed hash of them is kept.
    """

    def __init__(self) -> None:
        self._digest = b""
        self._identity: Identity | None = None
        self._until = 0.0

    def put(self, header: bytes, identity: Identity, valid_s: float) -> None:
        self._digest = _digest(header)
        self._identity = identity
        self._until = monotonic() + valid_s

    def get(self, header: bytes) -> Identity | None:
        """The client that has sent the same header, if that still counts."""
        if self._identity is None or monotonic() >= self._until:
            return None
        return self._identity if hmac.compare_digest(self._digest, _digest(header)) else None


def credentials_of(header: bytes | None, schemes: Mapping[str, Scheme]) -> Credentials:
    """The credentials in a header. Raises RefusedLoginError if no scheme can check them."""
    offered = " or ".join(scheme.title() for scheme in schemes)
    if header is None:
        raise RefusedLoginError(
            f"this server lets in only clients that prove who they are: send the header "
            f"Authorization with {offered}"
        )
    if len(header) > CREDENTIALS_BYTES_MAX:
        raise RefusedLoginError(f"an Authorization header of {len(header)} bytes")
    name, _, value = header.partition(b" ")
    scheme = name.decode("ascii", "replace").lower()
    if scheme not in schemes:
        # The name may be a secret that was sent without one.
        raise RefusedLoginError(f"this server doesn't take such an Authorization: send {offered}")
    try:
        return Credentials(scheme, value.strip().decode("ascii"))
    except UnicodeDecodeError:
        raise RefusedLoginError("the credentials can't be read") from None


def _digest(header: bytes) -> bytes:
    return hmac.digest(_KEY, header, hashlib.sha256)
