"""Middleware that answers repeated requests from cached answers, before any routing."""

from collections.abc import Awaitable, Callable
from typing import Final

from starlette.types import ASGIApp, Receive, Scope, Send

from query_api.http.gate import Gate
from query_api.http.response_cache import CONSISTENCY, CachedResponse, Key, ResponseCache, messages
from query_api.latest.log_end import LogEnd
from query_api.latest.recent_reads import RecentReads
from query_api.positions import Position

AfterNow = Callable[[Position], Awaitable[LogEnd | None]]
_ASKS_OTHERWISE: Final = b"metatide-"


class CacheMiddleware:
    """Serves cached answers to requests whose headers require nothing but a consistency."""

    def __init__(
        self,
        app: ASGIApp,
        cache: ResponseCache,
        gate: Gate,
        after_now: AfterNow,
        recent: RecentReads,
    ) -> None:
        self._app = app
        self._cache = cache
        self._gate = gate
        self._after_now = after_now
        self._recent = recent

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if (
            scope["type"] != "http"
            or scope["method"] != "GET"
            or not await self._answers(scope, send)
        ):
            await self._app(scope, receive, send)

    async def _answers(self, scope: Scope, send: Send) -> bool:
        etag = accepted = consistency = None
        for name, value in scope["headers"]:
            if name == b"if-none-match":
                etag = value
            elif name == b"accept-encoding":
                accepted = value
            elif name == CONSISTENCY and consistency is None:
                consistency = value
            elif name.startswith(_ASKS_OTHERWISE) or (name == b"accept" and b"ndjson" in value):
                return False
        key = scope["path"], scope["query_string"], consistency or b""
        cached = self._cache.get(key)
        if cached is None or not self._gate.may_read(scope):
            return False
        position = cached.reached
        if cached.to_confirm:
            log_end = cached.confirmed_by(self._recent) or await self._confirmed(scope, key, cached)
            if log_end is None:
                return False
            position = max(position, Position(log_end.epoch, log_end.current))
        response = self._cache.response(key, cached, etag, accepted)
        self._cache.put_head(key, cached, scope, response, self._gate.admission)
        cached.count()
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
