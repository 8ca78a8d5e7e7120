"""What a worker's Thrift server learns of its metastores before it listens."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
from prometheus_client import generate_latest

from hive.names import DEFAULT_PARTITION
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create, metadata
from metatide.config import Config
from metatide.config.thrift import Thrift
from metatide.config.upstream import Upstream
from metatide.config.values import ThriftUrls
from metatide.stack.machine import free_port
from metatide.worker.thrift import WorkerThriftServer
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.database.reads import GetWriteIds, Snapshots
from query_api.http import Settings
from query_api.requirement_defaults import Defaults
from tests.query_api.http.warm_shards import warm
from tests.query_api.thrift.methods.wire import arguments, request
from tests.query_api.thrift.serving import HOST, Client, ConfiguredMetastore


@pytest.mark.parametrize(
    ("expression", "is_left"), [("", False), ('"PART_NAME" asc', False), ('"PART_ID" asc', True)]
)
async def test_metastores_that_order_partitions_otherwise_answer_where_there_is_a_limit(
    expression: str, is_left: bool
) -> None:
    call = arguments("get_partition_names", "sales", "orders", 1)
    settings = {"metastore_partition_order_expr": expression}
    page = await page_after(settings, "get_partition_names", call)
    assert ('relayed_total{method="get_partition_names",reason="order"} 1.0' in page) == is_left


LIST = "sales.orders:5:9223372036854775807::"


@pytest.mark.parametrize(
    ("settings", "are_left"),
    [
        ({}, ()),
        ({"metastore_stats_fetch_bitvector": "false"}, ()),
        ({"metastore_stats_ndv_tuner": "0.0"}, ()),
        ({"hive_txn_stats_enabled": "true"}, ()),
        ({"metastore_stats_fetch_bitvector": "true"}, ("aggregates",)),
        ({"hive_stats_fetch_bitvector": "true"}, ("aggregates",)),
        ({"metastore_stats_ndv_tuner": "0.5"}, ("aggregates",)),
        ({"metastore_stats_ndv_densityfunction": "TRUE"}, ("aggregates",)),
        ({"metastore_stats_fetch_kll": "true"}, ("aggregates",)),
        ({"metastore_try_direct_sql": "false"}, ("aggregates",)),
        ({"hive_txn_stats_enabled": "false"}, ("statistics", "table", "partition")),
    ],
)
async def test_metastores_that_make_statistics_otherwise_answer_for_them(
    settings: dict[str, str], are_left: tuple[str, ...]
) -> None:
    names = {"dbName": "sales", "tblName": "orders"}
    columns = request("PartitionsStatsRequest", **names, colNames=["amount"], partNames=["ds=1"])
    of_table = request("TableStatsRequest", **names, colNames=["amount"])
    of_table.validWriteIdList = LIST
    table = request("GetTableRequest", **names, validWriteIdList=LIST)
    calls = {
        "aggregates": ("get_aggr_stats_for", arguments("get_aggr_stats_for", columns)),
        "statistics": (
            "get_table_statistics_req",
            arguments("get_table_statistics_req", of_table),
        ),
        "table": ("get_table_req", arguments("get_table_req", table)),
        "partition": ("get_partition", arguments("get_partition", "sales", "orders", ["1"])),
        "names": ("get_partition_names", arguments("get_partition_names", "sales", "orders", -1)),
    }
    for what, (method, call) in calls.items():
        page = await page_after(settings, method, call)
        relayed = f'relayed_total{{method="{method}",reason="statistics"}} 1.0' in page
        assert relayed == (what in are_left), what


@pytest.mark.parametrize(
    ("settings", "are_left"),
    [
        ({"metastore_default_partition_name": DEFAULT_PARTITION}, ()),
        ({"metastore_default_partition_name": "__NONE__"}, ("filter",)),
        ({"metastore_try_direct_sql": "false"}, ("filter", "list")),
    ],
)
async def test_metastores_that_find_or_show_partitions_otherwise_answer_for_them(
    settings: dict[str, str], are_left: tuple[str, ...]
) -> None:
    calls = {
        "filter": ("get_partitions_by_filter", ("ds = '1'", -1)),
        "list": ("get_partitions", (-1,)),
        "names": ("get_partition_names", (-1,)),
    }
    for what, (method, more) in calls.items():
        page = await page_after(settings, method, arguments(method, "sales", "orders", *more))
        relayed = f'relayed_total{{method="{method}",reason="partitions"}} 1.0' in page
        assert relayed == (what in are_left), what


async def test_an_id_without_a_row_is_open_for_as_long_as_metastores_take_it_for_that(
    new_database: Callable[[], str],
) -> None:
    url = new_database()
    engine = unpooled_engine(url)
    create(engine, Version.V4_1)
    two_seconds_ago = int(time.time() * 1000) - 2000
    times = {"TXN_STARTED": two_seconds_ago, "TXN_LAST_HEARTBEAT": two_seconds_ago}
    with engine.begin() as connection:
        for txn, state in ((1, "c"), (3, "o")):
            row = {"TXN_ID": txn, "TXN_STATE": state, "TXN_USER": "u", "TXN_HOST": "h"}
            txns = metadata(Version.V4_1).tables["TXNS"]
            connection.execute(txns.insert().values(**row, **times))
    primary = Primary(url)
    assert await open_txns(primary) == [3]
    for timeout in ("30000ms", "0ms"):
        async with serving({"metastore_txn_opentxn_timeout": timeout}, primary):
            assert await open_txns(primary) == [2, 3]
    await primary.close()


async def open_txns(primary: Primary) -> list[int]:
    """The open transactions for a reader over HTTP that begins now."""
    snapshots = (await primary.answer(GetWriteIds(()))).value
    assert isinstance(snapshots, Snapshots)
    return [*snapshots.txns.open]


async def page_after(of_metastore: dict[str, str], method: str, call: bytes) -> str:
    """A worker's metrics after a call, whose metastore tells these settings."""
    primary = Primary(f"postgresql://nobody@{HOST}:{free_port()}/nothing")
    async with serving(of_metastore, primary) as endpoint:
        client = Client(*await asyncio.open_connection(HOST, endpoint.port))
        assert await client.call(method, call) is not None
        page = generate_latest(endpoint.server.metrics).decode()
        await client.close()
    await primary.close()
    return page


@asynccontextmanager
async def serving(
    of_metastore: dict[str, str], primary: Primary
) -> AsyncIterator[WorkerThriftServer]:
    """A worker's Thrift server whose metastore tells these settings."""
    metastore = ConfiguredMetastore(**of_metastore)
    await metastore.start()
    url = ThriftUrls(f"thrift://{HOST}:{metastore.address[1]}")
    config = Config(thrift=Thrift(port=0), upstream=Upstream(url=url))
    shards: Any = warm()
    backend = Backend(shards, primary)
    settings = Settings(defaults=Defaults(Consistency.ANY))
    endpoint = WorkerThriftServer(config, shards, primary, backend, settings)
    await endpoint.start()
    yield endpoint
    await endpoint.close()
    await backend.close()
    await metastore.stop()
