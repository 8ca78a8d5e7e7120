"""All metrics, collected from the registries."""

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from prometheus_client.core import Metric
from prometheus_client.registry import Collector

from connectors.loads.metrics import LoadFault, LoadMetrics
from connectors.metrics import Fault
from connectors.metrics import Metrics as ConnectorMetrics
from hive.errors import RecordFormatError, UnreadableRecordError
from metatide.health import Thresholds, judge
from metatide.health.metrics import HealthMetrics
from metatide.process.metrics import process_metrics
from processors.worker.metrics import Metrics as WorkerMetrics
from processors.worker.phases import Phase
from query_api.audit.metrics import Metrics as AuditMetrics
from query_api.database.metrics import Metrics as DatabaseMetrics
from query_api.http.metrics import Metrics as HttpMetrics
from query_api.latest import LogEnd, RecentReads
from query_api.latest.log_history import LogHistory
from query_api.latest.missing_events import Missing
from query_api.peers import Metrics as PeerMetrics
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.thrift.call import RelayReason
from query_api.thrift.metrics import Metrics as ThriftMetrics

BOTH = "connector and worker"
CONNECTOR = "connector"
WORKER = "worker"


class Family(NamedTuple):
    """A metric with all its series."""

    name: str
    """The name in the page of metrics, without the endings of counters and histograms."""
    kind: str
    """`counter`, `gauge` or `histogram`."""
    labels: tuple[str, ...]
    doc: str
    job: str
    """The exporting process."""

    @property
    def series(self) -> tuple[str, ...]:
        """The names that queries may use."""
        endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count")}
        return tuple(f"{self.name}{ending}" for ending in endings.get(self.kind, ("",)))


def exported() -> list[Family]:
    """The metrics of a connector and of a worker, in the order of their pages. Something is counted
    in each, because families with labels are empty until then.
    """
    return [
        *(family for metric in _of_connector() for family in _families(metric, CONNECTOR)),
        *(family for metric in _of_worker() for family in _families(metric, WORKER)),
        *_families(process_metrics(), BOTH),
    ]


def _of_connector() -> Iterable[Collector]:
    metrics = ConnectorMetrics()
    metrics.failed(Fault.SOURCE)
    LoadMetrics(metrics.registry).failed(LoadFault.SOURCE)
    return (metrics.registry,)


def _of_worker() -> Iterator[Collector]:
    http = HttpMetrics()
    http.answered(Source.CACHE, Reason.FRESH, "getTable", 0.0)
    http.refused(503)
    http.watch(RecentReads(_never, LogHistory(), tuple))
    yield http.registry
    peers = PeerMetrics()
    peers.unproved.labels("http")
    yield peers.registry
    worker = WorkerMetrics()
    worker.are_in(Phase)
    worker.stop_at([UnreadableRecordError(0, 0, RecordFormatError(""))])
    worker.lag_records.labels(0)
    worker.images.made_s.labels(0)
    yield worker.registry
    health = judge((), Missing(1, 1, 1.0), Thresholds(), unheard_s=0.0)
    yield HealthMetrics(lambda: health, lambda: 0.0)
    yield DatabaseMetrics().registry
    thrift = ThriftMetrics(lambda: 0, {"read": 1}, lambda: {"client": 1})
    method = thrift.of("get_table_req")
    method.answered(Source.CACHE, Reason.FRESH, 1.0)
    method.answered_by_metastore(RelayReason.FORM, 1.0)
    method.shadowed["equal"] += 1
    thrift.refused["idle"] += 1
    thrift.logins["PLAIN"] += 1
    yield thrift
    audits = AuditMetrics()
    audits.left_out.labels(Reason.COLD)
    yield audits.registry


async def _never(_: Position) -> LogEnd | None:
    raise AssertionError("metrics alone are asked for")


def _families(collector: Collector, job: str) -> Iterator[Family]:
    for metric in collector.collect():
        yield Family(metric.name, metric.type, _labels(metric), metric.documentation, job)


def _labels(metric: Metric) -> tuple[str, ...]:
    assert metric.samples, f"{metric.name} has no series yet: count something with it here"
    names = dict.fromkeys(name for sample in metric.samples for name in sample.labels)
    return tuple(name for name in names if name != "le")
