"""What a worker's Thrift server learns of its metastores before it listens."""

import asyncio
from typing import Any

import pytest
from prometheus_client import generate_latest

from metatide.config import Config
from metatide.config.thrift import Thrift
from metatide.config.upstream import Upstream
from metatide.config.values import ThriftUrls
from metatide.stack.machine import free_port
from metatide.worker.thrift import WorkerThriftServer
from query_api.backend import Backend
from query_api.database import Primary
from query_api.http import Settings
from query_api.requirement import Consistency, Defaults
from tests.query_api.http.test_answers import warm
from tests.query_api.thrift.methods.wire import arguments
from tests.query_api.thrift.serving import HOST, Client, Telling


@pytest.mark.parametrize(
    ("expression", "is_left"), [("", False), ('"PART_NAME" asc', False), ('"PART_ID" asc', True)]
)
async def test_metastores_that_order_partitions_otherwise_answer_where_there_is_a_limit(
    expression: str, is_left: bool
) -> None:
    metastore = Telling(metastore_partition_order_expr=expression)
    await metastore.start()
    primary = Primary(f"postgresql://nobody@{HOST}:{free_port()}/nothing")
    url = ThriftUrls(f"thrift://{HOST}:{metastore.address[1]}")
    config = Config(thrift=Thrift(port=0), upstream=Upstream(url=url))
    shards: Any = warm()
    backend = Backend(shards, primary)
    settings = Settings(defaults=Defaults(Consistency.ANY))
    endpoint = WorkerThriftServer(config, shards, primary, backend, settings)
    await endpoint.start()
    client = Client(*await asyncio.open_connection(HOST, endpoint.port))
    call = arguments("get_partition_names", "sales", "orders", 1)
    assert await client.call("get_partition_names", call) is not None
    page = generate_latest(endpoint.server.metrics).decode()
    assert ('relayed_total{method="get_partition_names",reason="order"} 1.0' in page) == is_left
    await client.close()
    await endpoint.close()
    await backend.close()
    await primary.close()
    await metastore.stop()
