"""Traces of reads and of events: the names of all spans, and what each of them says.

It needs the extra `otel`, so only what runs with `tracing.endpoint` set imports it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from time import monotonic, time_ns
from typing import Final, Protocol

from opentelemetry.context import Context
from opentelemetry.trace import (
    NonRecordingSpan,
    Span,
    SpanContext,
    SpanKind,
    TraceFlags,
    Tracer,
    TracerProvider,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

REQUEST: Final = "request"
"""A request over HTTP."""
CALL: Final = "call"
"""A call over Thrift."""
READ: Final = "read"
JUDGE: Final = "judge"
WAIT: Final = "wait"
DATABASE: Final = "database"
FORWARD: Final = "forward"
RELAY: Final = "relay"
ROW: Final = "row"
"""From an event's row, whose time is in whole seconds, to its being read."""
PUBLISH: Final = "publish"
FOLD: Final = "fold"

_SOURCE, _REASON, _POSITION = "metatide.source", "metatide.reason", "metatide.position"
_GROUNDS: Final = {
    b"metatide-source": _SOURCE,
    b"metatide-reason": _REASON,
    b"metatide-position": _POSITION,
}
_EVENT, _SHARD = "metatide.event_id", "metatide.shard"
_SECOND_NS: Final = 1_000_000_000
_HALF: Final = 1 << 64
_W3C: Final = TraceContextTextMapPropagator()

Headers = Iterable[tuple[bytes, bytes]]


class Row(Protocol):
    """An event's row."""

    @property
    def event_id(self) -> int: ...

    @property
    def event_type(self) -> str: ...

    @property
    def event_time(self) -> int: ...


class Tracing:
    """Makes the spans of one process.

    The spans of a read follow each other within the process, and to another worker over HTTP. Those
    of an event are made by a connector and by workers. What links them is the event's id: the
    trace's id is made from it, so that no record has to carry it.
    """

    def __init__(self, provider: TracerProvider, sample: float) -> None:
        """`sample` is the share of events that are traced; the provider samples reads."""
        self._tracer: Tracer = provider.get_tracer("metatide")
        self._event_bound = round(sample * _HALF)

    @contextmanager
    def request(self, method: str, path: str, headers: Headers) -> Iterator[Span]:
        """A request over HTTP, which may continue its sender's trace."""
        with self._tracer.start_as_current_span(
            REQUEST,
            _sender_context(headers),
            SpanKind.SERVER,
            {"http.request.method": method, "url.path": path},
        ) as span:
            yield span

    def call(self, method: str, headers: Headers) -> Span:
        """A call over Thrift, which may continue its sender's trace; the caller ends it."""
        attributes = {"rpc.system": "thrift", "rpc.method": method}
        within = _sender_context(headers)
        return self._tracer.start_span(CALL, within, SpanKind.SERVER, attributes)

    def relay(self, call: Span, began_ns: int) -> None:
        """What a metastore took for a call."""
        within = set_span_in_context(call, Context())
        self._tracer.start_span(RELAY, within, SpanKind.CLIENT, start_time=began_ns).end()

    @contextmanager
    def step(self, name: str, **attributes: str) -> Iterator[Span]:
        """A step of the current read."""
        named = {f"metatide.{key}": value for key, value in attributes.items()}
        with self._tracer.start_as_current_span(name, attributes=named) as span:
            yield span

    @contextmanager
    def forward(self, url: str) -> Iterator[list[tuple[bytes, bytes]]]:
        """A request to another worker; gives the headers with which that one continues it."""
        attributes = {"url.full": url}
        with self._tracer.start_as_current_span(
            FORWARD, kind=SpanKind.CLIENT, attributes=attributes
        ):
            yield _context_headers()

    def is_sampled(self, topic: str, epoch: int, event_id: int) -> bool:
        """Whether an event is traced. All processes with the same share agree on that."""
        return _trace_id(topic, epoch, event_id) % _HALF < self._event_bound

    def published(
        self, topic: str, epoch: int, rows: Iterable[Row], looked_at: float
    ) -> dict[str, str] | None:
        """Events that were read at a moment of the monotonic clock, and are acknowledged by the
        brokers now. Gives the trace of one of them as an exemplar; None if none is traced.
        """
        exemplar = None
        looked_ns = time_ns() - round((monotonic() - looked_at) * _SECOND_NS)
        for row in rows:
            if not self.is_sampled(topic, epoch, row.event_id):
                continue
            attributes: dict[str, int | str] = {
                _EVENT: row.event_id,
                "metatide.event_type": row.event_type,
            }
            within = _event_context(topic, epoch, row.event_id)
            written_ns = min(row.event_time * _SECOND_NS, looked_ns)
            span = self._tracer.start_span(
                ROW, within, attributes=attributes, start_time=written_ns
            )
            span.end(looked_ns)
            after = set_span_in_context(span, within)
            self._tracer.start_span(
                PUBLISH, after, SpanKind.PRODUCER, attributes, start_time=looked_ns
            ).end()
            exemplar = _exemplar(topic, epoch, row.event_id)
        return exemplar

    def folded(
        self, topic: str, epoch: int, shard: int, event_id: int, began_ns: int
    ) -> dict[str, str]:
        """An event that a shard has folded since a moment, and that readers see now. Gives its
        trace as an exemplar.
        """
        attributes = {_EVENT: event_id, _SHARD: shard}
        within = _event_context(topic, epoch, event_id)
        self._tracer.start_span(
            FOLD, within, SpanKind.CONSUMER, attributes, start_time=began_ns
        ).end()
        return _exemplar(topic, epoch, event_id)


def grounds(span: Span, source: str, reason: str, position: str = "") -> None:
    """Says who answered and why."""
    span.set_attribute(_SOURCE, source)
    span.set_attribute(_REASON, reason)
    if position:
        span.set_attribute(_POSITION, position)


def responded(span: Span, status: int, headers: Headers) -> None:
    """Says what a response begins with."""
    span.set_attribute("http.response.status_code", status)
    for name, value in headers:
        if name in _GROUNDS:
            span.set_attribute(_GROUNDS[name], value.decode("latin-1"))


def sampled_trace_id(span: Span) -> str | None:
    """The id of a span's trace; None if it isn't kept."""
    context = span.get_span_context()
    return f"{context.trace_id:032x}" if context.trace_flags.sampled else None


def now_ns() -> int:
    """The clock of spans."""
    return time_ns()


def continuation(span: Span) -> list[tuple[bytes, bytes]]:
    """The headers by which somebody else continues a span's trace."""
    return _context_headers(set_span_in_context(span, Context()))


def _context_headers(context: Context | None = None) -> list[tuple[bytes, bytes]]:
    carrier: dict[str, str] = {}
    _W3C.inject(carrier, context)
    return [(name.encode(), value.encode()) for name, value in carrier.items()]


def _sender_context(headers: Headers) -> Context:
    carrier = {
        name.decode("latin-1"): value.decode("latin-1")
        for name, value in headers
        if name in (b"traceparent", b"tracestate")
    }
    return _W3C.extract(carrier, Context())


def _trace_id(topic: str, epoch: int, event_id: int) -> int:
    named = f"{topic}\0{epoch}\0{event_id}".encode()
    return int.from_bytes(blake2b(named, digest_size=16).digest())


def _exemplar(topic: str, epoch: int, event_id: int) -> dict[str, str]:
    return {"trace_id": f"{_trace_id(topic, epoch, event_id):032x}"}


def _event_context(topic: str, epoch: int, event_id: int) -> Context:
    """The trace of an event. Its root is the event itself, for which there is no span."""
    trace_id = _trace_id(topic, epoch, event_id)
    root = SpanContext(trace_id, trace_id % _HALF or 1, True, TraceFlags(TraceFlags.SAMPLED))
    return set_span_in_context(NonRecordingSpan(root), Context())
