"""Groups partitions that share the fields of their storage descriptors.

The cache does so only if all lie within the table's directory, as partitions do by default.
"""

from collections.abc import Iterable
from typing import Any, Final

from hive.names import TableName
from hive.thrift.binary import decode, encode
from hive.thrift.canonical import STORED_DESCRIPTOR
from hive.thrift.structs import PARTITION
from hive.thrift.types import ListOf, Struct, i32, properties, string, strings
from hive.thrift.view import View
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.outcome import structs

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
    (2, "sd", STORED_DESCRIPTOR),
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
"""The fields of storage descriptors by which partitions are grouped."""


def grouped(name: TableName, table: bytes, partitions: Iterable[bytes]) -> bytes | RelayReason:
    """The groups of this table's partitions."""
    root = View(table).struct(7)
    location = None if root is None else root.text(2)
    groups: dict[tuple[bytes | None, ...], list[dict[str, Any]]] = {}
    buckets = set()
    for data in partitions:
        partition, descriptor = decode(PARTITION, data), View(data).struct(6)
        sd = partition.get("sd")
        if descriptor is None or sd is None or location is None:
            return RelayReason.FORM
        buckets.add(sd["numBuckets"])
        is_plain = not sd["skewedInfo"]["skewedColNames"] and len(buckets) == 1
        if not is_plain or not sd.get("location", "").startswith(location):
            return RelayReason.FORM
        groups.setdefault(tuple(map(descriptor.raw, _SHARED)), []).append(partition)
    return structs([_spec(name, location or "", group) for group in groups.values()])


def _spec(name: TableName, location: str, group: list[dict[str, Any]]) -> bytes:
    partitions = [
        {
            "values": partition["values"],
            "createTime": partition["createTime"],
            "lastAccessTime": partition["lastAccessTime"],
            "relativePath": partition["sd"]["location"][len(location) :],
            "parameters": partition["parameters"],
        }
        for partition in group
    ]
    shared = {"partitions": partitions, "sd": {**group[0]["sd"], "location": location}}
    return encode(
        PARTITION_SPEC,
        {
            "dbName": name.db,
            "tableName": name.table,
            "rootPath": location,
            "sharedSDPartitionSpec": shared,
            "catName": name.catalog,
        },
    )
