"""Metrics of reads that the database answers."""

from enum import StrEnum

from prometheus_client import CollectorRegistry, Counter


class Result(StrEnum):
    """The outcome of a read."""

    ANSWERED = "answered"
    DOWN = "down"
    """The database can't be reached, or isn't a metastore's."""
    LEFT_ALONE = "left_alone"
    """The database wasn't asked, because it was down a moment ago."""
    BUSY = "busy"
    """Too many reads wait for the database already."""
    LATE = "late"
    """The read took longer than the limit."""
    REFUSED = "refused"
    """The database rejected the statement: a permission or a table is missing."""


class Metrics:
    """The metrics of one database, in their own registry."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        reads = Counter(
            "metatide_database_reads",
            "Reads that only the database could answer, by outcome",
            ("result",),
            registry=self.registry,
        )
        # All labels exist from the start: in a new series Prometheus sees no increase.
        self._reads = {result: reads.labels(result) for result in Result}

    def ended(self, result: Result) -> None:
        self._reads[result].inc()
