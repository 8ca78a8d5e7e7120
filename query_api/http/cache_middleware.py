"""Middleware that answers repeated requests from cached answers, before any routing."""

from collections.abc import Awaitable, Callable, Container
from typing import Final, NamedTuple

from starlette.types import ASGIApp, Receive, Scope, Send

from hive.names import TableName
from query_api.http.gate import Gate, is_peer
from query_api.http.messages import GROUNDS
from query_api.http.owner_answers import send_to_peer
from query_api.http.proof import FORWARDED, PROOF
from query_api.http.response_cache import (
    CONSISTENCY,
    CachedResponse,
    Key,
    ResponseCache,
    messages,
    positioned,
)
from query_api.latest.log_end import LogEnd
from query_api.latest.recent_reads import RecentReads
from query_api.positions import Position
from query_api.shards import Moment

AfterNow = Callable[[Position], Awaitable[LogEnd | None]]
_ASKS_OTHERWISE: Final = b"metatide-"
_OF_PEERS: Final = frozenset((PROOF, FORWARDED))
"""What peers send beside what their client asks."""


class CacheMiddleware:
    """Serves cached answers to requests whose headers require nothing but a consistency."""

    def __init__(
        self,
        app: ASGIApp,
        cache: ResponseCache,
        gate: Gate,
        after_now: AfterNow,
        recent: RecentReads,
        former_names: Container[TableName],
    ) -> None:
        self._app = app
        self._cache = cache
        self._gate = gate
        self._after_now = after_now
        self._recent = recent
        self._former_names = former_names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or not await self._answers(scope, send)
        ):
            await self._app(scope, receive, send)

    async def _answers(self, scope: Scope, send: Send) -> bool:
        wishes = _wishes(scope)
        if wishes is None:
            return False
        key = scope["path"], scope["query_string"], wishes.consistency
        cached = self._cache.get(key)
        if cached is None or not self._gate.may_read(scope):
            return False
        if wishes.of_peer and not isinstance(cached.moment, Moment):
            # How long it lasts, only its owner can say.
            return False
        position = cached.reached
        if cached.to_confirm:
            log_end = cached.confirmed_by(self._recent) or await self._confirmed(scope, key, cached)
            if log_end is None:
                return False
            position = max(position, Position(log_end.epoch, log_end.current))
        cached.count()
        if wishes.of_peer:
            headers = [pair for pair in positioned(cached.headers, position) if pair[0] in GROUNDS]
            await send_to_peer(send, cached.moment, self._former_names, cached.body, headers)
            return True
        response = self._cache.response(key, cached, wishes.etag, wishes.accepted)
        self._cache.put_head(key, cached, scope, response, self._gate.admission)
        for message in messages(response, position):
            await send(message)
        return True

    async def _confirmed(self, scope: Scope, key: Key, cached: CachedResponse) -> LogEnd | None:
        """A read of the log that confirms an answer; None if it doesn't, or if none is made."""
        if not cached.may_wait:
            return None
        state = scope.setdefault("state", {})
        if "log_end" in state:
            log_end: LogEnd | None = state["log_end"]
        else:
            log_end = await self._after_now(self._cache.log_from(cached))
        if log_end is None or self._cache.get(key) is not cached or not cached.confirm(log_end):
            state["log_end"] = log_end
            return None
        return log_end


class _Wishes(NamedTuple):
    """What headers ask for."""

    of_peer: bool
    consistency: bytes
    etag: bytes | None
    accepted: bytes | None


def _wishes(scope: Scope) -> _Wishes | None:
    """What the headers ask for; None if no cached answer will do."""
    etag = accepted = consistency = None
    of_peer = is_peer(scope)
    for name, value in scope["headers"]:
        if name == b"if-none-match":
            etag = value
        elif name == b"accept-encoding":
            accepted = value
        elif name == CONSISTENCY and consistency is None:
            consistency = value
        elif (name == b"accept" and b"ndjson" in value) or (
            name.startswith(_ASKS_OTHERWISE) and not (of_peer and name in _OF_PEERS)
        ):
            return None
    return _Wishes(of_peer, consistency or b"", etag, accepted)
