"""The call that gives partitions grouped by the fields that their storage descriptors share.

The cache answers it only without projection and filter.
"""

from hive.names import TableName
from query_api.objects import Objects
from query_api.reads import ListPartitions
from query_api.targets import TargetKind
from query_api.thrift.call import RelayReason
from query_api.thrift.methods import names
from query_api.thrift.methods.grouping import grouped
from query_api.thrift.methods.outcome import Outcome
from query_api.thrift.methods.request import Arguments, CacheRequest, Understood, refuse_unknown
from query_api.thrift.methods.table_method import TableMethod


class PartitionSpecs(TableMethod, frozen=True, kw_only=True):
    """All partitions of a table."""

    needs = (TargetKind.PARTITIONS,)

    @property
    def is_long(self) -> bool:
        return True

    @property
    def all_partitions_of(self) -> TableName | None:
        return self.table

    def of(self, table: bytes, objects: Objects) -> Outcome:
        chosen = ListPartitions(self.table).chosen(objects, table)
        partitions = objects.partitions(self.table, chosen.values_of(chosen.names))
        return grouped(self.table, table, partitions)


def get_partitions_with_specs(arguments: Arguments) -> Understood:
    request = arguments["request"]
    supported = "withAuth", "projectionSpec", "filterSpec", "processorCapabilities"
    refuse_unknown(request, *supported)
    catalog, db = names.place(request.get("dbName"))
    place = {"catName": catalog, **request, "dbName": db}
    table = names.table_in_catalog(place)
    return CacheRequest(PartitionSpecs(table, missing=RelayReason.FORM))
