"""The traces of reads over HTTP."""

import subprocess
import sys
from typing import Any

from prometheus_client.openmetrics.parser import text_string_to_metric_families
from prometheus_client.parser import text_string_to_metric_families as text_families

from query_api.backend import Backend
from query_api.http import create_app
from query_api.http.tracing import TracingMiddleware
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import EVERYTHING
from query_api.resolver.resolver import Resolver
from tests.metatide.client.serving import serving
from tests.query_api.http.read_client import EmptyDatabase, Nowhere
from tests.query_api.http.two_workers import elsewhere
from tests.query_api.http.warm_shards import ANY, TABLE, warm
from tests.query_api.shards import MemoryShards
from tests.support import local_http
from tests.support.spans import Spans, said, trace_ids, tree

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
SAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-01"}
UNSAMPLED = {"traceparent": f"00-{TRACE}-{PARENT}-00"}


def test_a_read_from_the_cache() -> None:
    spans = Spans()
    latest = Nowhere(LogEnd(0, 4, []))
    with serving(warm(), latest, tracing=spans.tracing) as url:
        local_http.get(f"{url}{TABLE}")
        whole = spans.until("request")
        local_http.get(f"{url}{TABLE}")
        short = spans.until("request")
    assert tree(whole) == {"request": None, "read": "request", "judge": "read"}
    grounds = {"source": "cache", "reason": "fresh", "position": "0:4"}
    assert said(whole, "read") == {"read": "GetTable", "consistency": "latest", **grounds}
    assert said(whole, "request").items() >= {**grounds, "url.path": TABLE}.items()
    assert tree(short) == {"request": None}
    assert said(short, "request").items() >= grounds.items()


def test_a_read_that_waits_and_is_answered_by_the_database() -> None:
    spans = Spans()
    database = EmptyDatabase(LogEnd(0, 5, [(5, EVERYTHING)]))
    with serving(warm(), database, tracing=spans.tracing) as url:
        assert local_http.get(f"{url}{TABLE}").status_code == 404
        made = spans.until("request")
    parents = tree(made)
    assert (parents["judge"], parents["wait"]) == ("read", "judge")
    assert parents["database"] in ("read", "wait"), "it is asked while the cache may catch up"
    assert len(trace_ids(made)) == 1
    grounds = {"source": "database", "reason": "behind", "position": "0:5"}
    assert said(made, "read").items() >= grounds.items()
    assert said(made, "request").items() >= grounds.items()


def test_the_sender_decides_and_its_trace_goes_on() -> None:
    spans = Spans(sample=0.0)
    with serving(warm(), tracing=spans.tracing) as url:
        for headers in ({}, UNSAMPLED):
            local_http.get(f"{url}{TABLE}?{ANY}", headers=headers)
            assert not spans.take()
        local_http.get(f"{url}{TABLE}?{ANY}", headers=SAMPLED)
        made = spans.until("request")
    assert trace_ids(made) == {int(TRACE, 16)}
    [request] = [span for span in made if span.name == "request"]
    assert request.parent is not None
    assert request.parent.span_id == int(PARENT, 16)


def test_a_forwarded_read_is_of_the_same_trace() -> None:
    forwarding, owner = Spans(), Spans(sample=0.0)
    with (
        serving(warm(), tracing=owner.tracing) as there,
        serving(elsewhere(there), tracing=forwarding.tracing) as url,
    ):
        assert local_http.get(f"{url}{TABLE}?{ANY}").status_code == 200
    here, its = forwarding.until("request"), owner.until("request")
    assert tree(here) == {"request": None, "forward": "request"}
    assert "request" in tree(its)
    assert trace_ids(here) == trace_ids(its)
    [forward] = [span for span in here if span.name == "forward"]
    [request] = [span for span in its if span.name == "request"]
    assert request.parent is not None
    assert forward.context is not None
    assert request.parent.span_id == forward.context.span_id


def test_what_is_off_costs_nothing() -> None:
    """Nothing of a trace is in the way of a read, or even imported."""
    backend = Backend(MemoryShards(), Nowhere())
    assert type(backend.resolver) is Resolver
    app = create_app(backend)
    around: list[object] = [middleware.cls for middleware in app.user_middleware]
    assert TracingMiddleware not in around
    code = (
        "import sys, metatide.cli.work, metatide.cli.connect\n"
        "sys.exit(any(name.startswith('opentelemetry') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_latencies_have_traces_where_the_format_can_tell_them() -> None:
    spans = Spans()
    with serving(warm(), tracing=spans.tracing) as url:
        local_http.get(f"{url}{TABLE}?{ANY}")
        plain = local_http.get(f"{url}/metrics")
        accepted = {"Accept": "application/openmetrics-text; version=1.0.0"}
        open_metrics = local_http.get(f"{url}/metrics", headers=accepted)
    [trace_id] = trace_ids(spans.until("request"))
    assert plain.headers["content-type"].startswith("text/plain; version=0.0.4")
    assert "trace_id" not in plain.text
    assert open_metrics.headers["content-type"].startswith("application/openmetrics-text")
    parsed: Any = text_string_to_metric_families(open_metrics.text)  # type: ignore[no-untyped-call]
    families = list(parsed)
    exemplars = [
        (sample.name, sample.labels["source"], sample.exemplar.labels)
        for family in families
        for sample in family.samples
        if sample.exemplar is not None
    ]
    assert exemplars == [
        ("metatide_answer_seconds_bucket", "cache", {"trace_id": f"{trace_id:032x}"})
    ]
    names = {family.name for family in text_families(plain.text)}
    assert {family.name for family in families} <= names
