"""Calls about statistics that are left to metastores with other settings than Hive's own."""

from typing import NamedTuple

from query_api.reads.read import Read
from query_api.thrift.methods.outcome import Outcome
from query_api.thrift.methods.partition import GetPartition, GetPartitionByName
from query_api.thrift.methods.statistics import Aggregate, PartitionStatistics, TableStatistics
from query_api.thrift.methods.tables import GetTable


class LeftStatistics(NamedTuple):
    """What metastores make otherwise."""

    aggregates: bool = False
    """The numbers of distinct values over several partitions."""
    of_transactional: bool = False
    """Whether the statistics of transactional tables fit a reader's snapshot: none do."""

    def include(self, read: Read[Outcome]) -> bool:
        """Whether this read is left to metastores."""
        if self.aggregates and isinstance(read, Aggregate):
            return True
        if not self.of_transactional:
            return False
        if isinstance(read, GetTable | TableStatistics | PartitionStatistics | Aggregate):
            return read.snapshot is not None
        # Of these they leave out whether the statistics are accurate, with a snapshot or without.
        return isinstance(read, GetPartition | GetPartitionByName)
