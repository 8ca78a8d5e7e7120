"""The call that gives partitions with what their descriptors share told once.

Answered where nothing is projected or filtered and all partitions lie within the table's folder,
as those do that nobody moved.
"""

from typing import Any, Final

from hive.thrift.binary import decode, encode
from hive.thrift.structs import PARTITION, STORAGE_DESCRIPTOR
from hive.thrift.types import ListOf, Struct, i32, properties, string, strings
from hive.thrift.view import View
from query_api.objects import Objects
from query_api.targets import Kind
from query_api.thrift.call import Unable
from query_api.thrift.methods import names
from query_api.thrift.methods.asked import Arguments, Asked, Understood, refuse_unknown
from query_api.thrift.methods.outcome import Outcome, structs
from query_api.thrift.methods.partitions import Choice
from query_api.thrift.methods.table_method import TableMethod

PARTITION_WITHOUT_SD: Final = Struct(
    "PartitionWithoutSD",
    (1, "values", strings),
    (2, "createTime", i32),
    (3, "lastAccessTime", i32),
    (4, "relativePath", string),
    (5, "parameters", properties),
)
WITH_SHARED_SD: Final = Struct(
    "PartitionSpecWithSharedSD",
    (1, "partitions", ListOf(PARTITION_WITHOUT_SD)),
    (2, "sd", STORAGE_DESCRIPTOR),
)
PARTITION_SPEC: Final = Struct(
    "PartitionSpec",
    (1, "dbName", string),
    (2, "tableName", string),
    (3, "rootPath", string),
    (4, "sharedSDPartitionSpec", WITH_SHARED_SD),
    (6, "catName", string),
)
_SHARED: Final = (1, 3, 4, 7)
"""The fields of descriptors by which partitions are put together."""


class PartitionSpecs(TableMethod, frozen=True, kw_only=True):
    """All partitions of a table."""

    needs = (Kind.PARTITIONS,)

    @property
    def is_long(self) -> bool:
        return True

    def of(self, table: bytes, objects: Objects) -> Outcome:
        root = View(table).struct(7)
        location = None if root is None else root.text(2)
        groups: dict[tuple[bytes | None, ...], list[dict[str, Any]]] = {}
        buckets = set()
        values = Choice(self.table).values(objects, table)
        for data in objects.partitions(self.table, values):
            partition, descriptor = decode(PARTITION, data), View(data).struct(6)
            sd = partition.get("sd")
            if descriptor is None or sd is None or location is None:
                return Unable.FORM
            buckets.add(sd["numBuckets"])
            is_plain = not sd["skewedInfo"]["skewedColNames"] and len(buckets) == 1
            if not is_plain or not sd.get("location", "").startswith(location):
                return Unable.FORM
            groups.setdefault(tuple(map(descriptor.raw, _SHARED)), []).append(partition)
        return structs([self._spec(location or "", group) for group in groups.values()])

    def _spec(self, location: str, group: list[dict[str, Any]]) -> bytes:
        partitions = [
            {
                "values": one["values"],
                "createTime": one["createTime"],
                "lastAccessTime": one["lastAccessTime"],
                "relativePath": one["sd"]["location"][len(location) :],
                "parameters": one["parameters"],
            }
            for one in group
        ]
        shared = {"partitions": partitions, "sd": {**group[0]["sd"], "location": location}}
        return encode(
            PARTITION_SPEC,
            {
                "dbName": self.table.db,
                "tableName": self.table.table,
                "rootPath": location,
                "sharedSDPartitionSpec": shared,
                "catName": self.table.catalog,
            },
        )


def get_partitions_with_specs(given: Arguments) -> Understood:
    request = given["request"]
    told = "withAuth", "projectionSpec", "filterSpec", "processorCapabilities"
    refuse_unknown(request, *told)
    catalog, db = names.place(request.get("dbName"))
    place = {"catName": catalog, **request, "dbName": db}
    table = names.table_in_catalog(place)
    return Asked(PartitionSpecs(table, missing=Unable.FORM))
