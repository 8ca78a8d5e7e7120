"""The operations of a worker beside reads, for the OpenAPI document."""

from typing import Final

import msgspec

from metatide.worker.images import PATH as IMAGES_PATH
from metatide.worker.images import WantedImages
from metatide.worker.thrift import DIFFERENCES_PATH, PORT_PATH
from processors.phases import Phase
from processors.shard_content import Objects, ShardContent
from processors.status import ShardStatus, WorkerStatus
from processors.web import CONTENT_PATH, STATUS_PATH
from query_api.admin_operations import AUDITS, ORDERS
from query_api.http.operation import Access, Operation
from query_api.thrift.shadow import Difference
from state.image import Manifest
from state.image.manifest import File
from state.store import Identity, Position


class ThriftPort(msgspec.Struct, frozen=True):
    """The address of a worker's Thrift server."""

    port: int


_SHARD: Final = ShardStatus(0, Phase.LIVE, None, 0, 1234, 5678, 0, 12, 1800.0)
_WORKER: Final = WorkerStatus(
    name="worker-1",
    group="metatide",
    address="127.0.0.1:8091",
    ready=True,
    fault=None,
    up_s=86400.0,
    disk_bytes=48_000_000,
    memory_bytes=310_000_000,
    asks_waiting=0,
    shards=[_SHARD],
)
_MANIFEST: Final = Manifest(
    identity=Identity(format_version=1, topic_id="Yk6bNSW8Tfy7lA", partitions=16, shard=0),
    position=Position(0, 1234, 5678),
    exact="",
    made_s=1767225600.0,
    files=(File("000012.sst", 65536, "9f2c"),),
)

WORKER: Final = (
    Operation(
        "status",
        "get",
        STATUS_PATH,
        "The state of this worker, and of each of its shards",
        WorkerStatus,
        _WORKER,
        Access.EVERYBODY,
    ),
    Operation(
        "statusShard",
        "get",
        CONTENT_PATH.replace(":int", ""),
        "What is in a shard of this worker; takes its time, since every entry is read",
        ShardContent,
        ShardContent(0, 4_096_000, 96, {"doubt: renamed": 1}, {"tables": Objects(97, 812.5)}),
        Access.EVERYBODY,
        in_path=(("shard", "Its number.", 0),),
        fails=("404",),
    ),
    Operation(
        "images",
        "post",
        IMAGES_PATH,
        "Make images now, of one shard or of all that are here; answered when they are made",
        list[Manifest],
        [_MANIFEST],
        Access.ADMINISTRATORS,
        WantedImages,
        WantedImages(0),
        fails=("500",),
    ),
)

THRIFT: Final = (
    Operation(
        "thrift",
        "get",
        PORT_PATH,
        "The address of this worker's Thrift server",
        ThriftPort,
        ThriftPort(9083),
        Access.EVERYBODY,
    ),
    Operation(
        "thriftDifferences",
        "get",
        DIFFERENCES_PATH,
        "Where cache and metastore would have answered calls differently, as shadow mode saw it: "
        "the last hundred",
        list[Difference],
        [
            Difference(
                1767225600.0,
                "get_table_req",
                "{1: {1: 'sales', 2: 'orders'}}",
                "0:1234",
                [("/0/1/3", "'ann'", "'bob'")],
            )
        ],
    ),
)

OPERATIONS: Final = (*WORKER, *THRIFT, *ORDERS, *AUDITS)
"""All of them: of a worker that has a database and a Thrift server."""
