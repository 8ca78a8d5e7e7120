"""The traces of calls over Thrift."""

from prometheus_client.openmetrics.exposition import generate_latest

from query_api.reasons import Reason
from query_api.thrift.call import Call, CallAnswer, Relay
from tests.query_api.thrift.serving import Metastore, answer, serving
from tests.support.spans import Spans, said, trace_ids, tree


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
