"""Delegation tokens that metastores have issued, by DIGEST-MD5 and the store in their database."""

import asyncio
import base64
import secrets
from collections.abc import Callable, Collection
from time import time
from typing import Final, NamedTuple

import structlog
from sqlalchemy.exc import SQLAlchemyError

from hive.delegation_tokens import (
    IDENTIFIER_BYTES_MAX,
    StoredToken,
    read_identifier,
    read_stored,
    store_keys,
)
from hive.errors import MetatideError, RefusedLoginError, TokenFormatError
from query_api.thrift.sasl.digest import challenge, read_digest
from query_api.thrift.sasl.mechanism import Accepted, Challenge
from query_api.thrift.sasl.principals import user_of

READS_MAX: Final = 8
"""The number of tokens that are looked up at a time; others wait for their turn."""
NONCE_BYTES: Final = 24

log = structlog.get_logger(__name__)
Store = Callable[[Collection[str]], str | None]
"""What the store has under one of some keys; it blocks."""


class Owner(NamedTuple):
    """The user whom a token stands for, as the token says."""

    user: str
    principal: str


def owner_of(identifier: bytes, realm: str) -> Owner:
    """`realm` is that of owners who are named with one. Raises RefusedLoginError."""
    try:
        name = read_identifier(identifier).owner
    except TokenFormatError as error:
        raise RefusedLoginError(f"DIGEST-MD5: {error}") from None
    if not name:
        raise RefusedLoginError("DIGEST-MD5: a delegation token without an owner")
    return Owner(user_of(name, realm) if "@" in name else name, name)


def identifier_of(name: str) -> bytes:
    """The identifier of a token, which is the name that the client has in DIGEST-MD5. Raises
    RefusedLoginError.
    """
    try:
        identifier = base64.b64decode(name, validate=True)
    except ValueError:
        identifier = b""
    if not 0 < len(identifier) <= IDENTIFIER_BYTES_MAX:
        raise RefusedLoginError("DIGEST-MD5: the name isn't the identifier of a delegation token")
    return identifier


class DelegationTokens:
    """The mechanism. Each login reads the store, so that a cancelled token is refused at once."""

    def __init__(self, store: Store, realm: str) -> None:
        """`realm` is that of the owners who are named with one."""
        self._store = store
        self._realm = realm
        self._turn = asyncio.Semaphore(READS_MAX)

    def begin(self) -> "_Exchange":
        return _Exchange(self)

    def owner(self, identifier: bytes) -> Owner:
        return owner_of(identifier, self._realm)

    async def stored(self, identifier: bytes) -> StoredToken:
        """What the store has of a valid token."""
        try:
            async with self._turn:
                text = await asyncio.to_thread(self._store, store_keys(identifier))
            stored = None if text is None else read_stored(text)
        except (SQLAlchemyError, MetatideError) as error:
            log.warning("delegation tokens can't be read", error=str(error).partition("\n")[0])
            raise RefusedLoginError(
                "delegation tokens can't be checked now: try again later"
            ) from None
        if stored is None:
            raise RefusedLoginError(
                "the delegation token is unknown: it was cancelled, or it has been removed since "
                "it expired, or these metastores didn't issue it"
            )
        if stored.ends_ms < time() * 1000:
            raise RefusedLoginError("the delegation token has expired")
        return stored


class _Exchange:
    """A challenge and its response."""

    def __init__(self, tokens: DelegationTokens) -> None:
        self._tokens = tokens
        self._nonce = ""

    async def answer(self, response: bytes) -> Challenge | Accepted:
        if not self._nonce:
            if response:
                raise RefusedLoginError("DIGEST-MD5 begins with a challenge")
            self._nonce = secrets.token_urlsafe(NONCE_BYTES)
            return Challenge(challenge(self._nonce))
        digest = read_digest(response, self._nonce)
        identifier = identifier_of(digest.user)
        owner = self._tokens.owner(identifier)
        try:
            stored = await self._tokens.stored(identifier)
            password = base64.b64encode(stored.password).decode()
            if not digest.is_of(password):
                raise RefusedLoginError("the delegation token's password is wrong")
        except RefusedLoginError as error:
            raise RefusedLoginError(str(error), f"a token of {owner.user!r}: {error}") from None
        return Accepted(owner.user, digest.proof(password), principal=owner.principal)
