"""A client's call, and its two outcomes: an answer or a relay."""

from collections.abc import AsyncIterable, Callable, Iterable, Set
from enum import StrEnum
from typing import Protocol

import msgspec

from query_api.owner_moment import AnyMoment
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.targets import Target


class Client(msgspec.Struct, eq=False):
    """The other end of a connection; it lives as long as the connection."""

    address: str = ""
    user: str = ""
    """The user's name: who the client has proved to be, or says that it is by `set_ugi`."""
    min_position: Position | None = None
    """The position of this client's last write; its answers must be complete up to there."""
    has_settings: bool = False
    """Whether it has changed a setting of its metastore that answers may depend on."""


class Call(msgspec.Struct, eq=False):
    """One request. The arguments are a whole struct in TBinaryProtocol, which is never decoded."""

    method: str
    arguments: bytes
    client: Client
    min_position: Position | None = None
    """The position up to which an answer from the cache must be complete."""
    age_ms_max: int | None = None
    """How old the log may be that confirms an answer, as a worker that forwards the call requires;
    0 if it must be read for the call. None if no log need confirm it."""


class RelayReason(StrEnum):
    """Why a call can't be answered by the cache, whatever the cache holds."""

    NOT_CACHED = "not_cached"
    """The cache doesn't answer this method."""
    RELAY_READS = "relay_reads"
    """The deployment has the metastore answer all reads."""
    GUARDED = "guarded"
    """The deployment has the metastore answer all calls of this method, or about this object."""
    UNAUTHORIZED = "unauthorized"
    """The user isn't known to be allowed to see it here; the metastore decides."""
    SETTINGS = "settings"
    """The client has changed a setting of its metastore, which answers may depend on."""
    CAPABILITIES = "capabilities"
    """It isn't known how the metastore serves a client with these capabilities."""
    EXPRESSION = "expression"
    """A serialized expression that can't be read here."""
    COLLATION = "collation"
    """The order depends on the collation of the metastore's database."""
    ORDER = "order"
    """A limit on partitions, which a metastore orders by something else than their names."""
    PARTITIONS = "partitions"
    """Partitions that a metastore finds or shows otherwise, by its settings."""
    STATISTICS = "statistics"
    """Statistics that a metastore makes otherwise, by its settings or its database."""
    FORM = "form"
    """A projection, an option, a filter or another form that only the metastore answers."""
    UNREADABLE = "unreadable"
    """The arguments are invalid for this method."""
    TOO_LONG = "too_long"
    """A request of more values than may be read at once, while other clients wait."""
    CATALOG = "catalog"
    """A metastore's default catalog differs from the configured one."""
    SHADOW = "shadow"
    """The metastore answers, so that the cache's answer can be compared with it."""
    FAILED = "failed"
    """The cache failed to answer."""


Why = Reason | RelayReason
Result = bytes | Iterable[bytes] | AsyncIterable[bytes]


class CallAnswer(msgspec.Struct, eq=False):
    """A result struct, including exceptions of the interface, whole or in chunks.

    An exception raised between two chunks ends the connection.
    """

    result: Result
    source: Source
    reason: Reason
    position: Position
    moment: AnyMoment | None = None
    """The state that the result was made from, if it depends on nothing else: while that lasts, the
    same method with the same arguments has the same result. Only set if the result is bytes."""
    to_confirm: tuple[Target, ...] = ()
    """If `latest` or `within` was required, the targets of the moment: each time the result is
    reused, the database must confirm that no event has touched them. Without them, such a result
    must not have a moment."""
    max_age_ms: int = 0
    """How long ago the database may have confirmed it; 0 for `latest`."""
    targets: tuple[Target, ...] | None = None
    """All that it tells of; None if that isn't known."""
    mark: int = 0
    """The mark of the row of the position's event, if another worker gave the answer; 0 if it isn't
    known."""


class Substitute(msgspec.Struct, eq=False):
    """The call to send to the metastore in place of the client's, and how to translate the result
    back.
    """

    method: str
    arguments: bytes
    translated: Callable[[bytes], bytes]
    """Turns the metastore's result struct into the one that the client expects."""


class Relay(msgspec.Struct, eq=False):
    """The outcome of a call that a metastore must answer."""

    reason: Why
    shard: int | None = None
    """The shard whose owner is asked first, if the reason is `Reason.NOT_OWNED`."""
    log_age_ms: int | None = None
    """How old the log may be that confirms the owner's answer; 0 if it must be read each time, None
    if the answer may not be cached."""
    age_ms_max: int | None = None
    """The same as `Call.age_ms_max`, for the owner."""


class Methods(Protocol):
    """The calls that the cache answers. Any MetatideError that they raise means a relay."""

    @property
    def names(self) -> Set[str]:
        """The methods that may be answered; others are always relayed."""
        ...

    def answer_now(self, call: Call, /) -> CallAnswer | Relay | None:
        """Answers if that needs no waiting; otherwise returns None: `answer` must be awaited."""
        ...

    async def answer(self, call: Call, /) -> CallAnswer | Relay: ...

    def may_be_dropped(self, method: str, /) -> bool:
        """Whether the metastore may lack this method; only then `instead` gives another call."""
        ...

    async def instead(self, call: Call, /) -> Substitute | None:
        """The call to relay in place of this one, if the metastore may lack its method."""
        ...
