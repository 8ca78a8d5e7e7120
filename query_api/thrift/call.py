"""A call of a client, and the two things that can become of it."""

from collections.abc import AsyncIterable, Callable, Iterable, Set
from enum import StrEnum
from typing import Protocol

import msgspec

from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.shards import Moment
from query_api.targets import Target


class Client(msgspec.Struct, eq=False):
    """Who is at the other end of a connection; it lives as long as the connection does."""

    address: str = ""
    user: str = ""
    """As `set_ugi` said."""
    min_position: Position | None = None
    """What this client's own writes reached: its answers must be complete up to there."""


class Call(msgspec.Struct, eq=False):
    """One request. Its arguments are a whole struct as TBinaryProtocol has it, never decoded."""

    method: str
    arguments: bytes
    client: Client
    min_position: Position | None = None
    """What any answer from the cache must be complete up to, whatever else it must fulfil."""


class Unable(StrEnum):
    """Why a call is not for the cache, whatever the cache knows."""

    NOT_CACHED = "not_cached"
    """The method is none of those that the cache answers."""
    RELAY_READS = "relay_reads"
    """The deployment wants all reads answered by the metastore."""
    CAPABILITIES = "capabilities"
    """What the metastore would do for a client of these capabilities isn't known."""
    EXPRESSION = "expression"
    """A serialized expression that can't be read here."""
    COLLATION = "collation"
    """The metastore's database decides the order, and may have another than ours."""
    FORM = "form"
    """A form of the request, a projection or an option, that only the metastore answers."""
    UNREADABLE = "unreadable"
    """The arguments aren't what this method takes."""
    CATALOG = "catalog"
    """A metastore has another default catalog than was declared."""
    SHADOW = "shadow"
    """The metastore answers, so that the cache's answer can be compared with it."""
    FAILED = "failed"
    """Answering failed."""


Why = Reason | Unable
Result = bytes | Iterable[bytes] | AsyncIterable[bytes]


class CallAnswer(msgspec.Struct, eq=False):
    """A result struct, exceptions of the interface included, whole or in chunks.

    An exception raised between two chunks ends the connection.
    """

    result: Result
    source: Source
    reason: Reason
    position: Position
    moment: Moment | None = None
    """What it was made of, if it depends on nothing else: while that doesn't change, the same
    method with the same arguments has the same result. Only for results that are bytes."""
    latest_of: tuple[Target, ...] = ()
    """With a moment: targets that nothing may have touched since, as the database must say each
    time. That is so wherever `latest` was required; without it, no moment may be given then."""


class Substitute(msgspec.Struct, eq=False):
    """The call to make of the metastore instead of the client's own, and the way back."""

    method: str
    arguments: bytes
    translated: Callable[[bytes], bytes]
    """From its result struct to the result struct that the client awaits."""


class Relay(msgspec.Struct, eq=False):
    """The metastore shall answer."""

    reason: Why
    shard: int | None = None
    """With `Reason.NOT_OWNED`: whose owner is asked first."""


class Methods(Protocol):
    """What the cache answers. Any MetatideError that comes out of it means a relay."""

    @property
    def names(self) -> Set[str]:
        """The methods that are ever answered; others are never asked for."""
        ...

    def answer_now(self, call: Call, /) -> CallAnswer | Relay | None:
        """Without waiting for anything; None when only `answer` can tell."""
        ...

    async def answer(self, call: Call, /) -> CallAnswer | Relay: ...

    def instead(self, call: Call, /) -> Substitute | None:
        """What to ask of a metastore that may have dropped this method, when it is relayed."""
        ...
