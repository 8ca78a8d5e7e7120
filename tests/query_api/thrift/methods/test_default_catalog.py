"""Metastores whose default catalog is another one than `hive`, and names that tell no catalog."""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from prometheus_client import generate_latest
from thriftpy2.utils import deserialize, serialize

from hive.names import DEFAULT_CATALOG, set_default_catalog
from metatide.config import Config
from metatide.config.thrift import Thrift
from metatide.config.upstream import Upstream
from metatide.config.values import ThriftUrls
from metatide.worker.thrift import WorkerThriftServer
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.http import Settings
from query_api.requirement_defaults import Defaults
from tests.query_api.http.read_client import client_of
from tests.query_api.thrift.methods import caches, wire
from tests.query_api.thrift.methods.comparison import Comparison
from tests.query_api.thrift.methods.corpus import Call, corpus, sample
from tests.support.hive import hms_client
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import CAPABILITIES, HmsClient
from tests.support.hive.metastore import Instances, MetastoreFactory

pytestmark = [pytest.mark.hive, pytest.mark.by_turns(2, of="metastores")]
DB = "shown"
CATALOG = "spark"
PROPERTIES = {
    "metastore.catalog.default": CATALOG,
    "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.MsckPartitionExpressionProxy",
}


class World(NamedTuple):
    """A metastore of another default catalog, and caches that know that."""

    instances: Instances
    loaded: caches.Cache
    folded: caches.Cache


@pytest.fixture
def world(metastore_factory: MetastoreFactory, tmp_path: Path) -> Iterator[World]:
    """Both catalogs have the same names, with other contents."""
    usual = metastore_factory()
    with usual.connect() as client:
        catalog = client.t.Catalog(name=CATALOG, locationUri=f"file://{tmp_path}/{CATALOG}")
        client.rpc.create_catalog(client.t.CreateCatalogRequest(catalog=catalog))
        fill(client, 2)
    other = metastore_factory(database=usual.database_url, properties=PROPERTIES)
    set_default_catalog(CATALOG)
    try:
        with other.connect() as client:
            fill(client, 5)
        url = usual.database_url
        with caches.following(url) as loaded, caches.following(url) as folded:
            loaded.load()
            folded.follow()
            yield World(other, loaded, folded)
    finally:
        set_default_catalog(DEFAULT_CATALOG)


def fill(client: HmsClient, count: int) -> None:
    """Makes everything by names without a catalog."""
    rpc, t = client.rpc, client.t
    client.create_database(DB, catalogName=None)
    for name, kind, fields in (
        ("plain", False, {}),
        ("acid", True, {}),
        ("bucketed", False, {"sd": objects.storage({"id": "bigint"}, numBuckets=4)}),
    ):
        table = objects.table(
            *(DB, name, {"id": "bigint"}, {"ds": "string"}),
            transactional=kind,
            parameters={"count": str(count)},
            catName=None,
            **fields,
        )
        rpc.create_table_req(
            t.CreateTableRequest(table=table, processorCapabilities=[*CAPABILITIES])
        )
        request = t.GetTableRequest(dbName=DB, tblName=name, processorCapabilities=[*CAPABILITIES])
        table = rpc.get_table_req(request).table
        for number in range(count):
            rpc.add_partition(objects.partition(table, [f"2026-01-0{number + 1}"], catName=None))
    described = t.ColumnStatisticsDesc(isTblLevel=True, dbName=DB, tableName="plain")
    figures = [objects.long_statistics("id", numDVs=count)]
    of_table = t.ColumnStatistics(statsDesc=described, statsObj=figures, engine="hive")
    rpc.update_table_column_statistics_req(
        t.SetPartitionsStatsRequest(colStats=[of_table], needMerge=False)
    )
    constraint = t.SQLNotNullConstraint(
        *(None, DB, "plain", "id", f"not_null_{count}"),
        enable_cstr=False,
        validate_cstr=False,
        rely_cstr=True,
    )
    rpc.add_not_null_constraint(t.AddNotNullConstraintRequest(notNullConstraintCols=[constraint]))
    function = objects.function(DB, "f", f"a.B{count}")
    function.catName = None
    rpc.create_function(function)
    rpc.alter_table(DB, "plain", table_with(rpc, t, altered=str(count)))


def table_with(rpc: Any, t: Any, **parameters: str) -> Any:
    asked = t.GetTableRequest(dbName=DB, tblName="plain", processorCapabilities=[*CAPABILITIES])
    table = rpc.get_table_req(asked).table
    table.parameters |= parameters
    return table


def in_catalog(call: Call, catalog: str | None) -> Call:
    """The same call with another catalog in the places of `hive`, or with none."""
    arguments = deserialize(wire.struct_of(f"{call.method}_args")(), call.given)
    for name, value in vars(arguments).items():
        if isinstance(value, str) and value.startswith("@hive#"):
            setattr(arguments, name, value.replace("@hive#", f"@{catalog}#" if catalog else ""))
        for field in ("catName", "catalogName"):
            if getattr(value, field, None) == DEFAULT_CATALOG:
                setattr(value, field, catalog)
    return Call(call.method, serialize(arguments))


def calls(client: HmsClient) -> Iterable[Call]:
    chosen = sample(corpus(client, [DB]), 4)
    return [in_catalog(call, catalog) for call in chosen for catalog in (None, CATALOG, "hive")]


async def compare(world: World) -> Comparison:
    address, url = world.instances.addresses[0], world.instances.database_url
    primary = Primary(url)
    with hms_client.connect(address) as client, wire.connect(address) as metastore:
        warehouse = client.rpc.get_config_value("metastore.warehouse.dir", "")
        comparison = Comparison(
            {
                name: caches.methods(cache, primary, consistency, warehouse)
                for name, cache, consistency in (
                    ("loaded", world.loaded, Consistency.ANY),
                    ("latest", world.loaded, Consistency.LATEST),
                    ("folded", world.folded, Consistency.ANY),
                )
            }
        )
        await comparison.run(metastore, calls(client))
    await primary.close()
    return comparison


async def by_http(world: World) -> None:
    primary = Primary(world.instances.database_url)
    async with client_of(Backend(world.folded.source, primary)) as client:
        for consistency in ("any", "latest"):
            for more, catalog, count in (
                ("", CATALOG, 5),
                (f"&catalog={CATALOG}", CATALOG, 5),
                ("&catalog=hive", "hive", 2),
            ):
                path = f"/v1/databases/{DB}/tables/plain"
                table = (await client.get(f"{path}?consistency={consistency}{more}")).json()
                assert table["catName"] == catalog
                assert table["parameters"]["altered"] == str(count)
                names = f"{path}/partition-names?consistency={consistency}{more}"
                assert len((await client.get(names)).json()["names"]) == count
                function = f"/v1/databases/{DB}/functions/f?consistency={consistency}{more}"
                function_answer = (await client.get(function)).json()
                assert (function_answer["catName"], function_answer["className"]) == (
                    catalog,
                    f"a.B{count}",
                )
            several = await client.get(f"/v1/tables?name={DB}.plain&name=hive.{DB}.plain")
            assert [one["catName"] for one in several.json()["tables"]] == [CATALOG, "hive"]
    await primary.close()


async def through_an_endpoint(world: World, declared: str) -> str:
    """The metrics of a worker's endpoint that was told of this default, once it was asked."""
    address = world.instances.addresses[0]
    set_default_catalog(declared)
    primary = Primary(world.instances.database_url)
    config = Config(thrift=Thrift(port=0), upstream=Upstream(url=ThriftUrls(address)))
    shards: Any = world.folded.source
    settings = Settings(defaults=Defaults(Consistency.ANY))
    backend = Backend(shards, primary)
    endpoint = WorkerThriftServer(config, shards, primary, backend, settings)
    await endpoint.start()
    here = f"thrift://127.0.0.1:{endpoint.port}"
    for _ in range(2):
        names = await asyncio.to_thread(names_by, here)
        assert names == await asyncio.to_thread(names_by, address)
    page = generate_latest(endpoint.server.metrics).decode()
    await endpoint.close()
    await backend.close()
    await primary.close()
    set_default_catalog(CATALOG)
    return page


def names_by(address: str) -> list[str]:
    with hms_client.connect(address) as client:
        return sorted(client.rpc.get_partition_names(DB, "plain", -1))


RELAYED = 'relayed_total{method="get_partition_names",reason="catalog"}'


async def test_answers_are_those_of_the_metastore_with_a_catalog_and_without(world: World) -> None:
    comparison = await compare(world)
    for name, same in comparison.same.items():
        assert sum(same.values()) > 100, (name, same, comparison.relayed[name])
    await by_http(world)
    assert RELAYED not in await through_an_endpoint(world, CATALOG)
    assert f"{RELAYED} 2.0" in await through_an_endpoint(world, DEFAULT_CATALOG)
