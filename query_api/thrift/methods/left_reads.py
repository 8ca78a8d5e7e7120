"""Calls that are left to metastores with other settings than Hive's own."""

from typing import NamedTuple

from query_api.reads.read import Read
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.outcome import Outcome
from query_api.thrift.methods.partition import GetPartition, GetPartitionByName
from query_api.thrift.methods.partition_specs import PartitionSpecs
from query_api.thrift.methods.partitions import Of, Partitions
from query_api.thrift.methods.statistics import Aggregate, PartitionStatistics, TableStatistics
from query_api.thrift.methods.tables import GetTable


class LeftReads(NamedTuple):
    """What metastores answer otherwise."""

    limits: bool = False
    """Which partitions come first where there is a limit: not those whose names do."""
    filters: bool = False
    """Which partitions a filter finds."""
    partitions: bool = False
    """What several partitions look like: like each read alone, with all of its serde."""
    aggregates: bool = False
    """The statistics of several partitions as one."""
    of_transactional: bool = False
    """Whether the statistics of transactional tables fit a reader's snapshot: none do."""

    def why(self, read: Read[Outcome]) -> RelayReason | None:
        """Why this read is left to metastores; None if it isn't."""
        if isinstance(read, Partitions):
            return self._why_partitions(read)
        if isinstance(read, PartitionSpecs):
            return RelayReason.PARTITIONS if self.partitions else None
        is_left = self.aggregates and isinstance(read, Aggregate)
        return RelayReason.STATISTICS if is_left or self._may_not_fit(read) else None

    def _why_partitions(self, read: Partitions) -> RelayReason | None:
        if self.limits and read.most is not None:
            return RelayReason.ORDER
        is_filtered = self.filters and read.wanted.filter is not None
        shows = self.partitions and read.of_each in (Of.OBJECTS, Of.SPECS)
        return RelayReason.PARTITIONS if is_filtered or shows else None

    def _may_not_fit(self, read: Read[Outcome]) -> bool:
        if not self.of_transactional:
            return False
        if isinstance(read, GetTable | TableStatistics | PartitionStatistics | Aggregate):
            return read.snapshot is not None
        # Of these they leave out whether the statistics are accurate, with a snapshot or without.
        return isinstance(read, GetPartition | GetPartitionByName)
