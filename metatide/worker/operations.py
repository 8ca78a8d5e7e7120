"""The operations of a worker beside reads."""

import asyncio
from typing import Any, Final

import msgspec
import structlog
from starlette.exceptions import HTTPException

from metatide.health import ConnectorHealth, Health, Level, Thresholds
from metatide.worker.reporter import MemberStatus, Reporter
from metatide.worker.thrift import WorkerThriftServer
from metatide.worker.thrift_owners import PORT_PATH, ThriftPort
from processors.worker.phases import Phase
from processors.worker.shard_content import Objects, ShardContent, shard_content
from processors.worker.status import ShardStatus
from query_api.audit import AUDITS
from query_api.http.access import Access
from query_api.http.admin import ORDERS
from query_api.http.operation import AnyOperation, Operation, OperationRequest
from query_api.thrift.shadow import Difference
from state.image import Manifest
from state.image.manifest import File
from state.store import Identity, StorePosition

IMAGES_PATH: Final = "/v1/images"

log = structlog.get_logger(__name__)


class ImageRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The shard to make an image of; if none is named, all shards of the worker."""

    shard: int | None = None


async def _status(reporter: Reporter, _: OperationRequest[None]) -> MemberStatus:
    await reporter.measure()
    return reporter.status


async def _content(reporter: Reporter, request: OperationRequest[None]) -> ShardContent:
    worker = reporter.worker
    number = request.http.path_params["shard"]
    snapshot = worker.snapshot(number)
    if snapshot is None:
        raise HTTPException(404, f"shard {number} isn't open here")
    path = worker.directory.store(number)
    return await asyncio.to_thread(shard_content, number, snapshot, path)


async def _make_images(
    reporter: Reporter, request: OperationRequest[ImageRequest]
) -> list[Manifest]:
    """Answers when the images are ready. The worker's stores don't change."""
    by, shard = request.by, request.body.shard
    log.warning("administration", who=by.name, address=by.address, what="image", shard=shard)
    return await reporter.worker.make_images(shard)


async def _port(thrift: WorkerThriftServer, _: OperationRequest[None]) -> ThriftPort:
    return ThriftPort(thrift.port)


async def _differences(thrift: WorkerThriftServer, _: OperationRequest[None]) -> list[Difference]:
    return thrift.server.differences


_SHARD: Final = ShardStatus(0, Phase.LIVE, None, 0, 1234, 5678, 0, 12, 1800.0)
_CONNECTOR: Final = ConnectorHealth(
    name="connector-1",
    host="meta-1",
    address="10.0.0.7:8080",
    level=Level.GREEN,
    silent_s=0.4,
    quiet_s=0.42,
    epoch=0,
    position=1234,
    sequence=1234,
    loads_waiting=0,
    leads=16,
    partitions=16,
    fault=None,
)
_HEALTH: Final = Health(Level.GREEN, [], 1234, 0, 0.0, Thresholds(), [_CONNECTOR])
_WORKER: Final = MemberStatus(
    name="worker-1",
    group="metatide",
    address="127.0.0.1:8091",
    ready=True,
    fault=None,
    up_s=86400.0,
    disk_bytes=48_000_000,
    memory_bytes=310_000_000,
    load_requests_waiting=0,
    shards=[_SHARD],
    version="0.1.0",
    health=_HEALTH,
)
_MANIFEST: Final = Manifest(
    identity=Identity(format_version=1, topic_id="Yk6bNSW8Tfy7lA", partitions=16, shard=0),
    position=StorePosition(0, 1234, 5678),
    exact="",
    made_s=1767225600.0,
    files=(File("000012.sst", 65536, "9f2c"),),
)

WORKER: Final[tuple[Operation[Reporter, Any, Any], ...]] = (
    Operation(
        "getStatus",
        "get",
        "/v1/status",
        "The state of this worker and of each of its shards, and the health of the cache: what it "
        "lacks, and how the connectors are",
        _status,
        MemberStatus,
        _WORKER,
        Access.EVERYBODY,
    ),
    Operation(
        "getShardContent",
        "get",
        "/v1/status/shards/{shard}",
        "What a shard of this worker holds; slow, since every entry is read",
        _content,
        ShardContent,
        ShardContent(0, 4_096_000, 96, {"doubt: renamed": 1}, {"tables": Objects(97, 812.5)}),
        Access.ADMINISTRATORS,
        in_path=(("shard", "Its number.", 0),),
        fails=("404",),
    ),
    Operation(
        "makeImages",
        "post",
        IMAGES_PATH,
        "Make images now, of one shard or of all that are here; answered when they are made",
        _make_images,
        list[Manifest],
        [_MANIFEST],
        Access.ADMINISTRATORS,
        ImageRequest,
        ImageRequest(0),
        fails=("500",),
    ),
)

THRIFT: Final[tuple[Operation[WorkerThriftServer, Any, Any], ...]] = (
    Operation(
        "getThriftPort",
        "get",
        PORT_PATH,
        "The port of this worker's Thrift server",
        _port,
        ThriftPort,
        ThriftPort(9083),
        Access.EVERYBODY,
    ),
    Operation(
        "listThriftDifferences",
        "get",
        f"{PORT_PATH}/differences",
        "Where cache and metastore would have answered calls differently, as shadow mode saw it: "
        "the last hundred",
        _differences,
        list[Difference],
        [
            Difference(
                1767225600.0,
                "get_table_req",
                "{1: {1: 'sales', 2: 'orders'}}",
                "0:1234",
                [("/0/1/3", "'ann'", "'bob'")],
                "ann",
            )
        ],
    ),
)

OPERATIONS: Final[tuple[AnyOperation, ...]] = (*WORKER, *THRIFT, *ORDERS, *AUDITS)
"""All operations; a worker has them if it has a database and a Thrift server."""
