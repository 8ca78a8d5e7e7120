"""Delegation tokens by which the worker acts for its clients at metastores."""

from collections import OrderedDict
from collections.abc import Awaitable, Callable
from time import monotonic
from typing import Final

import msgspec

from hive.delegation_tokens import Token, read_token
from hive.errors import ThriftError, TokenFormatError, UnimpersonatedError, UpstreamError
from hive.thrift.binary import decode, encode
from hive.thrift.types import Struct, string
from query_api.shared_attempt import SharedAttempt
from query_api.thrift.metastore.link import Address, Link, ask, host_port
from query_api.thrift.protocol.wire import MessageType

AGE_S_MAX: Final = 6 * 3600.0
"""A token that is older is replaced. By default metastores end one after a day."""
TOKENS_MAX: Final = 10_000
_METHOD: Final = "get_delegation_token"
_ARGUMENTS: Final = Struct(f"{_METHOD}_args", (1, "token_owner", string), (2, "renewer", string))
_EXCEPTION: Final = Struct("MetaException", (1, "message", string))
_RESULT: Final = Struct(f"{_METHOD}_result", (0, "success", string), (1, "o1", _EXCEPTION))

Fetch = Callable[[Address, str], Awaitable[Token]]
"""Gets a token for a user at a metastore."""


class _Entry(msgspec.Struct, eq=False):
    attempt: SharedAttempt[Token]
    token: Token | None = None
    since_s: float = 0.0


class Impersonation:
    """The tokens, by metastore and user: metastores may each have a store of their own."""

    def __init__(self, fetch: Fetch) -> None:
        self._fetch = fetch
        self._entries: OrderedDict[tuple[Address, str], _Entry] = OrderedDict()

    async def token(self, address: Address, user: str) -> Token:
        """The token that is kept for a user, or a new one."""
        key = address, user
        entry = self._entries.get(key)
        if entry is None:
            entry = self._entries[key] = _Entry(SharedAttempt())
            if len(self._entries) > TOKENS_MAX:
                self._entries.popitem(last=False)
        self._entries.move_to_end(key)
        if entry.token is not None and monotonic() - entry.since_s <= AGE_S_MAX:
            return entry.token

        async def attempt() -> Token:
            token = await self._fetch(address, user)
            entry.token, entry.since_s = token, monotonic()
            return token

        return await entry.attempt.outcome(attempt)

    def forget(self, address: Address, user: str, token: Token) -> None:
        """Drops a token that the metastore refuses."""
        entry = self._entries.get((address, user))
        if entry is not None and entry.token is token:
            entry.token = None


async def ask_for_token(link: Link, user: str, own_principal: str) -> Token:
    """A token by which this worker acts for a user, over a connection where it has logged in as
    itself. Raises UpstreamError.
    """
    arguments = encode(_ARGUMENTS, {"token_owner": user, "renewer": own_principal})
    reply = await ask(link, _METHOD, arguments)
    if reply.kind != MessageType.REPLY:
        raise UpstreamError("it gives no delegation tokens")
    try:
        result = decode(_RESULT, reply.body)
        if "success" in result:
            return read_token(result["success"])
    except (ThriftError, TokenFormatError) as error:
        raise UpstreamError(f"its delegation token can't be read: {error}") from None
    why = result.get("o1", {}).get("message", "it doesn't say why")
    raise UnimpersonatedError(
        f"the metastore {host_port(link.address)} doesn't let {own_principal} act for {user}, "
        f"which hadoop.proxyuser in its core-site.xml allows: {why}"
    )
