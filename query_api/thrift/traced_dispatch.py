"""The spans of calls over Thrift."""

from time import perf_counter

from opentelemetry.trace import Span, use_span

from query_api.reasons import Reason, Source
from query_api.thrift.call import Call, Client, Why
from query_api.thrift.connection.connection import Connection
from query_api.thrift.dispatch import Dispatch
from query_api.thrift.hub import Hub
from query_api.thrift.metastore.http_layer import HttpLayer
from query_api.thrift.metastore.link import Link
from query_api.thrift.metastore.relayed_call import RelayedCall
from query_api.thrift.metrics import METASTORE
from query_api.thrift.own_writes import OwnWrites
from query_api.thrift.protocol.wire import Message
from query_api.thrift.relay import ClientRelay
from query_api.thrift.replies import Replies
from state.tracing import Tracing, continuation, grounds, now_ns, sampled_trace_id


class _TracedReplies(Replies):
    span: Span | None = None
    """The span of the current call."""

    def answered(self, method: str, source: Source, reason: Reason) -> None:
        self._end(method, source, reason)
        super().answered(method, source, reason)

    def relayed(self, method: str, why: Why) -> None:
        self._end(method, METASTORE, why)
        super().relayed(method, why)

    def unanswered(self) -> None:
        self._take().end()
        super().unanswered()

    def _take(self) -> Span:
        span, self.span = self.span, None
        assert span is not None
        return span

    def _end(self, method: str, source: str, reason: str) -> None:
        span = self._take()
        grounds(span, source, reason)
        span.end()
        trace_id = sampled_trace_id(span)
        if trace_id is not None:
            seconds = perf_counter() - self.call_began
            self._hub.metrics.of(method).note(source, seconds, trace_id)


class _TracedRelay(ClientRelay):
    def __init__(
        self,
        hub: Hub,
        connection: Connection,
        client: Client,
        own_writes: OwnWrites,
        replies: _TracedReplies,
        tracing: Tracing,
    ) -> None:
        super().__init__(hub, connection, client, own_writes, replies)
        self._traced = replies
        self._tracing = tracing
        self._began_ns = 0

    def send(
        self, message: Message, why: Why, call: Call | None = None, *, copies: bool = False
    ) -> None:
        self._began_ns = now_ns()
        super().send(message, why, call, copies=copies)

    def _begin(self, call: RelayedCall, link: Link) -> None:
        if isinstance(link.layer, HttpLayer) and self._traced.span is not None:
            headers = continuation(self._traced.span)
            link.layer.trace_headers = b"".join(b"%b: %b\r\n" % header for header in headers)
        super()._begin(call, link)

    def relayed(self, call: RelayedCall) -> None:
        assert self._traced.span is not None
        self._tracing.relay(self._traced.span, self._began_ns)
        super().relayed(call)


class TracedDispatch(Dispatch):
    """Takes the place of a dispatch when traces are on. Cached replies are not traced."""

    def __init__(self, tracing: Tracing, hub: Hub, connection: Connection) -> None:
        super().__init__(hub, connection)
        self._tracing = tracing
        self._replies = self._traced = _TracedReplies(hub, connection, self._client)
        self._relay = _TracedRelay(
            hub, connection, self._client, self._own_writes, self._traced, tracing
        )

    def begin(self, message: Message) -> None:
        span = self._traced.span = self._tracing.call(
            message.method, self._connection.trace_headers
        )
        # The tasks that continue the call take the span with them.
        with use_span(span):
            super().begin(message)

    def close(self) -> None:
        if self._traced.span is not None:
            self._traced.span.end()
        super().close()
