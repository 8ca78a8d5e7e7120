"""The spans of requests over HTTP, and their way to other workers."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from ssl import SSLContext
from typing import Final

from opentelemetry.trace import get_current_span
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from query_api.http.forward import Forwarder, OwnerAnswer, OwnerRequest
from query_api.http.metrics import Metrics
from query_api.peers import Peers
from query_api.reasons import Reason, Source
from state.tracing import Tracing, responded, sampled_trace_id

_TRACED: Final = "/v1/"


class TracingMiddleware:
    """Traces each request that comes this far; it stands before the cached answers."""

    def __init__(self, app: ASGIApp, tracing: Tracing) -> None:
        self._app = app
        self._tracing = tracing

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not scope["path"].startswith(_TRACED):
            await self._app(scope, receive, send)
            return
        with self._tracing.request(scope["method"], scope["path"], scope["headers"]) as span:

            async def noting(message: Message) -> None:
                if message["type"] == "http.response.start":
                    responded(span, message["status"], message["headers"])
                await send(message)

            await self._app(scope, receive, noting)


class TracedMetrics(Metrics):
    """Remembers the trace of a recent answer for each bucket of time."""

    def answered(self, source: Source, reason: Reason, read: str, seconds: float) -> None:
        super().answered(source, reason, read, seconds)
        trace_id = sampled_trace_id(get_current_span())
        if trace_id is not None:
            self.times[source].note(seconds, trace_id)


class TracedForwarder(Forwarder):
    """Passes the trace on to the workers that it asks."""

    def __init__(self, trusted: SSLContext | None, peers: Peers, tracing: Tracing) -> None:
        super().__init__(trusted, peers)
        self._tracing = tracing

    @asynccontextmanager
    async def _answer_from(
        self, url: str, request: OwnerRequest
    ) -> AsyncIterator[OwnerAnswer | None]:
        with self._tracing.forward(url) as context:
            headers = [*request.headers, *context]
            async with super()._answer_from(url, request._replace(headers=headers)) as answer:
                yield answer
