"""A process with the ports of a worker over shards in memory: `python -m tests.hostile.served`.

It prints its ports (HTTP, Thrift, Thrift over HTTP) and serves until it is killed.
"""

import asyncio

import uvloop

from hive.names import table_name
from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION
from metatide.process import logs
from metatide.stack.machine import LOOPBACK, free_port
from processors.freed_memory import limit_freed_memory
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.http import ReadServer, create_app
from query_api.requirement_defaults import Defaults
from query_api.thrift.methods import CachedMethods
from query_api.thrift.server import ThriftServer
from state.records.actions import CreateNames, CreateTable, PutName, PutPartitions
from state.records.objects import PartitionImage
from tests.query_api.http.read_client import Nowhere
from tests.query_api.shards import (
    SALES,
    MemoryShard,
    MemoryShards,
    change,
    name_image,
    table_image,
)

TABLE = table_name(None, "sales", "large")
PARTITIONS = 2_000
PARAMETER_BYTES = 4_000


def shards() -> MemoryShards:
    """A table whose partitions take 8 MB."""
    rows = tuple(map(_partition, range(PARTITIONS)))
    image = table_image(TABLE, managed=False)
    return MemoryShards(
        MemoryShard(
            change(1, CreateNames(SALES)),
            change(2, CreateTable(image), PutName(SALES, name_image("large"))),
            change(3, PutPartitions(TABLE, 0, rows, added=True)),
        )
    )


def _partition(number: int) -> PartitionImage:
    values = (f"{number:05}",)
    fields = {
        "values": list(values),
        "dbName": TABLE.db,
        "tableName": TABLE.table,
        "sd": {"location": f"s3a://lake/{number}", "cols": []},
        "parameters": {"note": "x" * PARAMETER_BYTES},
    }
    return PartitionImage(values, 0, 0, encode(PARTITION, fields))


async def main() -> None:
    backend = Backend(shards(), Nowhere())
    methods = CachedMethods(backend, Defaults(Consistency.ANY))
    thrift = ThriftServer(methods, backend)
    thrift_port = await thrift.start(LOOPBACK, 0)
    thrift_http_port = await thrift.start_http(LOOPBACK, 0)
    http = ReadServer(create_app(backend), LOOPBACK, http_port := free_port())
    serving = asyncio.create_task(http.serve())
    while not http.started:
        await asyncio.sleep(0.01)
    print(http_port, thrift_port, thrift_http_port, flush=True)
    await serving


if __name__ == "__main__":
    logs.configure()
    limit_freed_memory()
    uvloop.run(main())
