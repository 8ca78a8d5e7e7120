"""All reads: the targets that they depend on, and how they make answers from objects."""

from query_api.reads.databases import GetDatabase, GetFunction, ListDatabases, ListFunctions
from query_api.reads.partitions import (
    CountPartitions,
    GetPartition,
    ListPartitionNames,
    ListPartitions,
)
from query_api.reads.read import Page, Read, Rendered, Slice, cut
from query_api.reads.statistics import (
    AggregateStatistics,
    GetConstraints,
    GetPartitionStatistics,
    GetTableStatistics,
)
from query_api.reads.tables import GetTable, GetTables, ListTables, ListTablesOfAll

__all__ = [
    "AggregateStatistics",
    "CountPartitions",
    "GetConstraints",
    "GetDatabase",
    "GetFunction",
    "GetPartition",
    "GetPartitionStatistics",
    "GetTable",
    "GetTableStatistics",
    "GetTables",
    "ListDatabases",
    "ListFunctions",
    "ListPartitionNames",
    "ListPartitions",
    "ListTables",
    "ListTablesOfAll",
    "Page",
    "Read",
    "Rendered",
    "Slice",
    "cut",
]
