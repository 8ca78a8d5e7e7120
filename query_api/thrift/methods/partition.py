"""Calls that give one partition."""

from collections.abc import Sequence

from hive.errors import InputError
from hive.names import TableName, partition_items, stored_partition_name
from hive.thrift.splice import acid_partition, has_values, lacks_serde_details
from query_api.objects import Objects, Values
from query_api.reads.read import Group
from query_api.targets import Target, TargetKind
from query_api.thrift.call import RelayReason
from query_api.thrift.methods import names
from query_api.thrift.methods.outcome import Outcome, Payload, Raised
from query_api.thrift.methods.request import (
    Arguments,
    CacheRequest,
    Understood,
    of_request,
    refuse_unknown,
)
from query_api.thrift.methods.table_method import TableAlone, TableMethod
from query_api.thrift.methods.table_traits import table_traits


class GetPartition(TableMethod, frozen=True, kw_only=True):
    """A partition by its values."""

    values: Values
    keys: Values | None = None
    """The table's keys by which the values were taken from a name, if they were."""
    with_privileges: bool = False

    @property
    def targets(self) -> tuple[Target, ...]:
        return (*super().targets, Target(TargetKind.PARTITION, self.table, self.values))

    @property
    def group(self) -> Group | None:
        return None if self.with_database else Group(TargetKind.PARTITION, self.table)

    def of(self, table: bytes, objects: Objects) -> Outcome:
        traits = table_traits(table)
        if len(self.values) != len(traits.keys) or not self.values:
            return RelayReason.FORM
        if self.keys not in (None, traits.keys):
            # The table has been made anew since, so the name means other values.
            return RelayReason.FORM
        if self.with_privileges and traits.has_partition_privileges:
            return RelayReason.FORM
        partition = objects.partition(self.table, self.values)
        if partition is None:
            return _no_partition(self.values)
        if not has_values(partition, self.values):
            # The metastore looks the partition up by its name, and returns the values of the
            # request.
            return RelayReason.FORM
        if traits.full_acid:
            return acid_partition(partition)
        return RelayReason.FORM if lacks_serde_details(partition) else partition


class GetPartitionByName(TableAlone, frozen=True, kw_only=True):
    """A partition by its name. The table gives the order of the keys."""

    name: str

    def of(self, table: bytes, objects: Objects) -> Outcome:
        # Where less is escaped, the metastore divides at the last `=`, and takes what is before a
        # `:` for the scheme of a path.
        if self.name != stored_partition_name(self.name):
            return RelayReason.FORM
        items = dict(partition_items(self.name))
        if not items or not items.keys() >= set(keys := table_traits(table).keys):
            return RelayReason.FORM
        values = tuple(items[key] for key in keys)
        return GetPartition(self.table, values=values, keys=keys, missing=_no_partition(values))


def get_partition(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    table, values = names.table(arguments), _values(arguments.get("part_vals"))
    return CacheRequest(GetPartition(table, values=values, missing=_because_of_table(table)))


def get_partition_req(arguments: Arguments) -> Understood:
    request = arguments["req"]
    refuse_unknown(request)
    table, values = names.table_in_catalog(request), _values(request.get("partVals"))
    read = GetPartition(table, values=values, missing=_because_of_table(table))
    return of_request(read, request, table)


def get_partition_with_auth(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    values = _values(arguments.get("part_vals"))
    missing = _no_partition(values)
    table = names.table(arguments)
    return CacheRequest(GetPartition(table, values=values, missing=missing, with_privileges=True))


def get_partition_by_name(arguments: Arguments) -> Understood:
    refuse_unknown(arguments)
    table, name = names.table(arguments), arguments.get("part_name", "")
    missing = Raised("NoSuchObjectException", f"{table.in_catalog} table not found")
    return CacheRequest(GetPartitionByName(table, name=name, missing=missing))


def _values(values: Sequence[str] | None) -> Values:
    """The requested values. No value may be empty, because the answer repeats them and the stored
    object has no empty values.
    """
    if not values or not all(values):
        raise InputError("a partition without some of its values")
    return tuple(values)


def _no_partition(values: Values) -> Raised:
    return Raised("NoSuchObjectException", f"partition values=[{', '.join(values)}]")


def _because_of_table(table: TableName) -> Payload | Raised:
    return Raised(
        "NoSuchObjectException", f"Unable to get partition because {table} does not exist"
    )
