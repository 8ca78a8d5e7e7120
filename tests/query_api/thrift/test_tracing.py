"""The traces of calls over Thrift."""

import asyncio

import pytest
from prometheus_client.openmetrics.exposition import generate_latest

from query_api.reasons import Reason
from query_api.thrift.call import Call, CallAnswer, Relay
from query_api.thrift.forward import FORWARDED
from query_api.thrift.metastore.client_identity import SET_UGI
from query_api.thrift.metastore.upstream import UpstreamSettings
from tests.query_api.thrift.http_transport.clients import PATH, call, serving_http
from tests.query_api.thrift.serving import HOST, Metastore, answer, serving, until
from tests.query_api.thrift.structs import message, text
from tests.support.spans import Spans, said, trace_ids, tree


async def test_a_call_over_http_goes_on_in_its_senders_trace() -> None:
    trace, parent = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
    spans = Spans(sample=0.0)
    async with serving_http(tracing=spans.tracing, get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        await client.ask(call("get_table"))
        context = {"traceparent": f"00-{trace}-{parent}-01", "tracestate": "vendor=1"}
        await client.ask(call("get_table", headers=context))
        made = spans.until("call")
        assert (await client.ask(call("get_table"))).status == 200
        assert not spans.take(), "each call says for itself whose it is"
    [span] = made
    assert span.parent is not None
    assert (span.parent.trace_id, span.parent.span_id) == (int(trace, 16), int(parent, 16))
    assert trace_ids(made) == {int(trace, 16)}


async def test_a_metastore_over_http_is_told_whose_trace_a_call_belongs_to() -> None:
    theirs, ours = Spans(sample=0.0), Spans()
    async with serving_http(tracing=theirs.tracing, get_cold=lambda _: answer("m")) as metastore:
        upstream = UpstreamSettings(((HOST, metastore.port),), http_path=PATH)
        async with serving(
            upstream=upstream, tracing=ours.tracing, get_cold=lambda _: Relay(Reason.COLD)
        ) as here:
            client = await here.connect()
            for _ in range(2):
                assert await client.call("get_cold") is not None
                [continued] = theirs.until("call")
                [relayed] = [span for span in ours.until("call") if span.name == "call"]
                assert continued.parent is not None
                assert relayed.context is not None
                assert continued.parent.span_id == relayed.context.span_id
                assert continued.parent.trace_id == relayed.context.trace_id


async def test_a_call_says_who_answered_and_what_a_relay_took() -> None:
    spans = Spans()

    async def later(_: Call) -> CallAnswer:
        with spans.tracing.step("judge"):
            return answer("c")

    async with serving(
        Metastore(),
        tracing=spans.tracing,
        get_table=lambda _: answer("c"),
        get_later=later,
        get_cold=lambda _: Relay(Reason.COLD),
    ) as here:
        client = await here.connect()
        await client.call("get_table")
        at_once = spans.until("call")
        await client.call("get_later")
        waited = spans.until("call")
        await client.call("get_cold")
        relayed = spans.until("call")
        metrics = generate_latest(here.server.metrics).decode()  # type: ignore[no-untyped-call]
        await client.close()
    assert tree(at_once) == {"call": None}
    by_cache = {"source": "cache", "reason": "fresh"}
    assert said(at_once, "call").items() >= {"rpc.method": "get_table", **by_cache}.items()
    assert tree(waited) == {"call": None, "judge": "call"}
    assert said(waited, "call").items() >= by_cache.items()
    assert tree(relayed) == {"call": None, "relay": "call"}
    by_metastore = {"source": "metastore", "reason": "cold"}
    assert said(relayed, "call").items() >= by_metastore.items()
    assert f"{next(iter(trace_ids(relayed))):032x}" in metrics
    assert len(trace_ids([*at_once, *waited, *relayed])) == 3


@pytest.mark.parametrize(
    ("method", "body"),
    [("get_cold", b"\0"), (SET_UGI, text(1, "ann") + b"\0"), (FORWARDED, b"\0")],
)
async def test_a_call_that_nobody_answers_has_a_span_too(method: str, body: bytes) -> None:
    spans = Spans()
    async with serving(tracing=spans.tracing, get_cold=lambda _: Relay(Reason.COLD)) as here:
        client = await here.connect()
        assert await client.call(method, body) is not None
        [span] = [span for span in spans.take() if span.name == "call"]
        assert (span.attributes or {})["rpc.method"] == method


async def test_a_call_whose_client_goes_has_a_span_too() -> None:
    spans = Spans()

    async def never(_: Call) -> CallAnswer:
        await asyncio.Event().wait()
        raise AssertionError

    async with serving(tracing=spans.tracing, get_never=never) as here:
        client = await here.connect()
        client.send(message("get_never", b"\0"))
        await until(lambda: bool(here.methods.calls))
        await client.close()
        await until(lambda: not here.server._connections)
        assert [span.name for span in spans.take()] == ["call"]
