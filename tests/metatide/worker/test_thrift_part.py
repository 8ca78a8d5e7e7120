"""What the page shows of the Thrift server."""

from metatide.worker.thrift_part import thrift_part
from query_api.http.page.process_info import MethodCalls
from query_api.reasons import Reason, Source
from query_api.thrift.call import RelayReason
from query_api.thrift.metrics import Metrics


def test_calls_are_counted_by_method_and_by_who_answered() -> None:
    metrics = Metrics(lambda: 3)
    table, other = metrics.of("get_table_req"), metrics.of("create_table_req")
    table.answered(Source.CACHE, Reason.FRESH, 0.0001)
    table.answered(Source.CACHE, Reason.NEWER, 0.002)
    table.answered(Source.DATABASE, Reason.COLD, 0.03)
    table.answered_by_metastore(Reason.COLD, 0.02)
    table.shadowed["different"] += 1
    other.answered_by_metastore(RelayReason.NOT_CACHED, 7.0)
    part = thrift_part(metrics)
    assert part.connections == 3
    assert part.methods == [
        MethodCalls("get_table_req", 2, 1, 1, 1),
        MethodCalls("create_table_req", 0, 0, 1, 0),
    ]
    counts = {times.source: times.counts for times in part.times}
    assert {source: sum(each) for source, each in counts.items()} == {
        "cache": 2,
        "database": 1,
        "metastore": 2,
    }
    assert counts["metastore"][-1] == 1, "it took longer than the last bound"
