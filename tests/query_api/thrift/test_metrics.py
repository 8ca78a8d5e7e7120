"""What the Thrift server counts."""

from query_api.reasons import Reason, Source
from query_api.thrift.metrics import Metrics


def test_answers_are_summed_over_methods() -> None:
    metrics = Metrics(lambda: 0)
    metrics.of("get_table").answered(Source.CACHE, Reason.FRESH, 0.001)
    metrics.of("get_table").answered(Source.DATABASE, Reason.COLD, 0.001)
    metrics.of("get_database").answered(Source.CACHE, Reason.FRESH, 0.001)
    assert metrics.counts() == {
        (Source.CACHE, Reason.FRESH): 2,
        (Source.DATABASE, Reason.COLD): 1,
    }
