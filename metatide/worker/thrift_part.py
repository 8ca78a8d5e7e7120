"""What the page shows of a worker's Thrift server."""

from query_api.http.page.process_info import LatencyHistogram, MethodCalls, ThriftPart
from query_api.reasons import Source
from query_api.thrift.metrics import BOUNDS_S, MethodFigures, Metrics
from query_api.thrift.shadow import Outcome


def thrift_part(metrics: Metrics) -> ThriftPart:
    """The clients, the methods and the times of all calls together."""
    methods, sums = [], dict[str, list[int]]()
    for method, figures in metrics.methods():
        methods.append(_calls(method, figures))
        for source, taken in figures.times():
            counts = sums.setdefault(source, [0] * len(taken.counts))
            sums[source] = [sum_ + count for sum_, count in zip(counts, taken.counts, strict=True)]
    times = [
        LatencyHistogram("thrift", source, BOUNDS_S, counts) for source, counts in sums.items()
    ]
    return ThriftPart(metrics.connections, methods, times)


def _calls(method: str, figures: MethodFigures) -> MethodCalls:
    by_source = dict.fromkeys(Source, 0)
    for (source, _), count in figures.answers.items():
        by_source[source] += count
    return MethodCalls(
        method,
        by_source[Source.CACHE],
        by_source[Source.DATABASE],
        figures.relayed.total(),
        figures.shadowed[Outcome.DIFFERENT],
    )
