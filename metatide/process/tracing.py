"""Sends traces to a collector, if `tracing.endpoint` names one."""

from contextlib import contextmanager
from typing import TYPE_CHECKING

from hive.errors import InputError
from metatide.config import Config

if TYPE_CHECKING:
    from collections.abc import Iterator

    from state.tracing import Tracing


@contextmanager
def traced(config: Config, service: str) -> "Iterator[Tracing | None]":
    """The tracing of a process, which ends with the context; None if it is off."""
    endpoint, sample = config.tracing.endpoint, config.tracing.per_thousand / 1000
    if endpoint is None:
        yield None
        return
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
        from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

        from state.tracing import Tracing
    except ImportError as error:
        raise InputError(
            "tracing.endpoint needs the extra otel: pip install 'metatide[otel]'"
        ) from error
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(sample)),
        resource=Resource.create({"service.name": service}),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint)))
    try:
        yield Tracing(provider, sample)
    finally:
        provider.shutdown()
