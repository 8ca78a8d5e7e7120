"""What a client is bound to: the position of a session, or the lists of a snapshot."""

import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Final, Self

import httpx

from metatide.client.errors import InvalidUrlError, NotFoundError
from metatide.client.need import Need, Position
from metatide.client.snapshot import Snapshot


@dataclass(frozen=True)
class Settings:
    """Addresses, credentials and time-outs of the connection to the server."""

    token: str | None = field(default=None, repr=False)
    timeout_s: float = 60.0
    retry_s: float = 10.0
    """For how long a read is repeated that the server can't answer yet, or while it doesn't
    accept connections; at 0 it fails at once. A server's `Retry-After` is waited for.
    """
    connections: int = 100
    verify: bool | str = True
    """False, or the path of CA certificates to trust, for servers with their own certificates."""
    transport: Any = None
    """A transport of httpx in place of its default, such as one with retries."""
    trust_env: bool = True
    """Whether proxies and CA certificates that the environment names are used."""


DEFAULTS = Settings()
_BAD_ADDRESS: Final = "bad address of a server: write http://HOST:PORT"


def is_sendable(token: str) -> bool:
    """Whether a header can carry the token."""
    return bool(token) and token.isascii() and token.isprintable() and token == token.strip()


def http_settings(url: str, settings: Settings) -> dict[str, Any]:
    """The arguments of httpx's clients."""
    try:
        address = httpx.URL(url)
    except httpx.InvalidURL:
        # What httpx says may be a part of a password.
        raise InvalidUrlError(_BAD_ADDRESS) from None
    if address.scheme not in ("http", "https") or not address.host or address.query:
        raise InvalidUrlError(_BAD_ADDRESS)
    verify: bool | ssl.SSLContext
    if isinstance(settings.verify, str):
        try:
            verify = ssl.create_default_context(cafile=settings.verify)
        except OSError as error:
            raise ValueError(f"verify: {settings.verify} can't be used: {error}") from error
    else:
        verify = settings.verify
    headers = {"User-Agent": "metatide-client"}
    token = settings.token
    if token is not None:
        if not is_sendable(token):
            # What httpx would say of it later shows it.
            raise ValueError("token: it is empty, or has a line break or another bad character")
        headers["Authorization"] = f"Bearer {token}"
    return {
        "base_url": address,
        "headers": headers,
        "timeout": settings.timeout_s,
        "limits": httpx.Limits(max_connections=settings.connections),
        "verify": verify,
        "trust_env": settings.trust_env,
        "transport": settings.transport,
    }


class Bound:
    """Adds to each read's need what the client is bound to."""

    def __init__(self, retry_s: float) -> None:
        self._retry_s = retry_s
        self._carries = False
        self._position: Position | None = None
        self._snapshot: Snapshot | None = None

    @property
    def position(self) -> Position | None:
        """The session's highest position so far, which another client can continue from."""
        return self._position

    def seen(self, position: Position) -> None:
        """Makes the session's next reads at least as new as this position."""
        self._require_session()
        if self._position is None or position > self._position:
            self._position = position

    def with_committed(self, table: str, write_id: int) -> Self:
        """A client of the same snapshot for a transaction that has itself committed this write
        id.
        """
        if self._snapshot is None:
            raise ValueError("only a client made by snapshot() reads by write-id lists")
        return self._copy(snapshot=self._snapshot.with_committed(table, write_id))

    def _require_session(self) -> None:
        # Reads of another client carry no position: they would go on showing older states.
        if not self._carries:
            raise ValueError("only a client made by session() remembers what it has seen")

    def _copy(self, *, carries: bool = False, snapshot: Snapshot | None = None) -> Self:
        other = copy(self)
        other._carries = carries or self._carries  # noqa: SLF001 - of the same class
        other._snapshot = snapshot or self._snapshot  # noqa: SLF001
        return other

    def _need(self, table: str | None, need: Need | None) -> Need:
        snapshot = self._snapshot
        if need is None:
            need = Need() if table is None or snapshot is None else snapshot.need(table)
        return need.at_least(self._position) if self._carries else need

    def _need_of_several(self, need: Need | None) -> Need | None:
        """A need of a read of several tables, which can't be one of a snapshot."""
        if need is None and self._snapshot is not None:
            raise ValueError(
                "a snapshot reads one table at a time: use table(), or give the read a need"
            )
        return need

    def _saw(self, position: Position | None) -> None:
        if self._carries and position is not None:
            self.seen(position)

    @contextmanager
    def _seeing_absence(self) -> Iterator[None]:
        """Takes note of an answer that something doesn't exist: it is an answer like others."""
        try:
            yield
        except NotFoundError as error:
            self._saw(error.position)
            raise
