"""Traces, kept in memory."""

import time

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

from state.tracing import Tracing

PATIENCE_S = 60.0


class Spans:
    """What a process that traces all, or a share, has sent."""

    def __init__(self, sample: float = 1.0) -> None:
        self._exporter = InMemorySpanExporter()
        provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(sample)), shutdown_on_exit=False
        )
        provider.add_span_processor(SimpleSpanProcessor(self._exporter))
        self.tracing = Tracing(provider, sample)

    def until(self, name: str) -> list[ReadableSpan]:
        """The same, once there is one of this name: it may end after what it is about."""
        deadline = time.monotonic() + PATIENCE_S
        while name not in [span.name for span in self._exporter.get_finished_spans()]:
            assert time.monotonic() < deadline, f"no {name} has ended"
            time.sleep(0.005)
        return self.take()

    def take(self) -> list[ReadableSpan]:
        """The spans since the last call, in the order of their ends."""
        spans = list(self._exporter.get_finished_spans())
        self._exporter.clear()
        return spans


def tree(spans: list[ReadableSpan]) -> dict[str, str | None]:
    """The name of each span's parent; None where it isn't among these."""
    names = {span.context.span_id: span.name for span in spans if span.context is not None}
    return {
        span.name: None if span.parent is None else names.get(span.parent.span_id) for span in spans
    }


def trace_ids(spans: list[ReadableSpan]) -> set[int]:
    return {span.context.trace_id for span in spans if span.context is not None}


def said(spans: list[ReadableSpan], name: str) -> dict[str, object]:
    """What the only span of a name says, without `metatide.`."""
    [span] = [span for span in spans if span.name == name]
    attributes = span.attributes or {}
    return {key.removeprefix("metatide."): value for key, value in attributes.items()}
