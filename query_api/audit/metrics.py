"""Metrics of background audits."""

from prometheus_client import CollectorRegistry, Counter, Gauge


class Metrics:
    """The audit metrics of one worker, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()

        def counter(name: str, doc: str, labels: tuple[str, ...] = ()) -> Counter:
            return Counter(f"metatide_audit_{name}", doc, labels, registry=self.registry)

        def gauge(name: str, doc: str) -> Gauge:
            return Gauge(f"metatide_audit_{name}_seconds", doc, registry=self.registry)

        self.every_s = gauge("every", "How often a round is to begin (audit.every_s); 0: never")
        self.finished_s = gauge(
            "finished",
            "When a round last finished without a fault, as Unix time; at first, when the worker "
            "began",
        )
        self.objects = counter("objects", "Objects that audits compared with the database")
        self.disagreements = counter(
            "disagreements", "Objects that audits found to differ; there must be none"
        )
        self.disagreed_s = gauge(
            "disagreed", "When an audit last found an object to differ, as Unix time; 0 if none has"
        )
        self.left_out = counter(
            "left_out", "Parts of scopes that audits couldn't compare, by reason", ("reason",)
        )
        self.faults = counter(
            "faults", "Rounds that failed, mostly because the database was unavailable"
        )
