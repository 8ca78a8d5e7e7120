"""Delegation tokens that metastores check, by DIGEST-MD5: for those whose store isn't their
database.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable
from typing import Final

import structlog

from hive.errors import MetastoreLoginError, RefusedLoginError, UpstreamError
from query_api.thrift.metastore.login.negotiation import SaslFrames
from query_api.thrift.sasl.digest import NAME, nonce_of, read_digest
from query_api.thrift.sasl.mechanism import Accepted, Challenge
from query_api.thrift.sasl.negotiation import Status
from query_api.thrift.sasl.tokens import identifier_of, owner_of

CHECKS_MAX: Final = 64
"""The number of tokens that are checked at a time; others wait for their turn."""
TIMEOUT_S: Final = 5.0
_PROTECTIONS: Final = re.compile(rb'qop="[^"]*"')

log = structlog.get_logger(__name__)
OpenFrames = Callable[[], Awaitable[tuple[SaslFrames, asyncio.Transport]]]
"""Connects to a metastore."""


class RelayedTokens:
    """The mechanism. A client answers the challenge of a metastore, which says whether that is
    right; the worker never knows the token's password. The connection serves for this alone.
    """

    def __init__(self, open_frames: OpenFrames, realm: str) -> None:
        """`realm` is that of owners who are named with one."""
        self.open_frames: Final = open_frames
        self.realm: Final = realm
        self.turn: Final = asyncio.Semaphore(CHECKS_MAX)

    def begin(self) -> "_Exchange":
        return _Exchange(self)


class _Exchange:
    """A challenge and its response."""

    def __init__(self, tokens: RelayedTokens) -> None:
        self._tokens = tokens
        self._nonce = ""
        self._frames: SaslFrames | None = None
        self._transport: asyncio.Transport | None = None

    async def answer(self, response: bytes) -> Challenge | Accepted:
        if self._frames is None:
            if response:
                raise RefusedLoginError("DIGEST-MD5 begins with a challenge")
            return Challenge(await self._ask(self._begin))
        digest = read_digest(response, self._nonce)
        owner = owner_of(identifier_of(digest.user), self._tokens.realm)

        async def check() -> bytes:
            # The metastore could read another name in the client's own bytes than was read here.
            return await self._check(digest.repeated())

        try:
            proof = await self._ask(check)
        except RefusedLoginError as error:
            raise RefusedLoginError(str(error), f"a token of {owner.user!r}: {error}") from None
        return Accepted(owner.user, proof, principal=owner.principal)

    async def _ask(self, ask: Callable[[], Awaitable[bytes]]) -> bytes:
        try:
            async with self._tokens.turn, asyncio.timeout(TIMEOUT_S):
                return await ask()
        except MetastoreLoginError:
            raise RefusedLoginError(
                "the metastores refuse the delegation token: it has expired or was cancelled, its "
                "password is wrong, or another metastore issued it"
            ) from None
        except (OSError, TimeoutError, UpstreamError) as error:
            why = str(error) or "no answer in time"
            log.warning("delegation tokens can't be checked", why=why)
            raise RefusedLoginError(
                "delegation tokens can't be checked now: try again later", why
            ) from None

    async def _begin(self) -> bytes:
        self._frames, self._transport = await self._tokens.open_frames()
        # A client that doesn't respond leaves nothing behind.
        asyncio.get_running_loop().call_later(TIMEOUT_S, self._transport.abort)
        self._frames.send(Status.START, NAME.encode())
        self._frames.send(Status.OK, b"")
        _, challenge = await self._frames.receive()
        self._nonce = nonce_of(challenge)
        return _PROTECTIONS.sub(b'qop="auth"', challenge)

    async def _check(self, response: bytes) -> bytes:
        assert self._frames is not None
        assert self._transport is not None
        try:
            self._frames.send(Status.OK, response)
            status, proof = await self._frames.receive()
        finally:
            self._transport.abort()
        if status != Status.COMPLETE:
            raise UpstreamError("it wants more of a login by DIGEST-MD5 than there is")
        return proof
