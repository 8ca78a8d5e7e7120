"""A real metastore behind the server: what it says comes through byte for byte."""

import asyncio
from collections.abc import Iterator

import pytest

from metatide.config.values import ThriftUrl
from query_api.thrift.metastore.upstream import UpstreamSettings
from tests.query_api.thrift.methods.wire import arguments
from tests.query_api.thrift.serving import Client, serving
from tests.query_api.thrift.structs import message
from tests.support.hive import hms_objects as objects
from tests.support.hive import idl
from tests.support.hive.hms_client import CAPABILITIES
from tests.support.hive.metastore import Instances

pytestmark = pytest.mark.hive
DB = "relayed"


@pytest.fixture(scope="module")
def filled(metastore: Instances) -> Instances:
    with metastore.connect() as client:
        client.create_database(DB)
        table = client.create_table(
            objects.table(DB, "t", {"id": "bigint"}, {"ds": "string"}, transactional=False)
        )
        client.add_partitions(table, [[f"2026-01-{day:02}"] for day in range(1, 29)])
        client.update_statistics(table, [objects.long_statistics("id", numDVs=7)])
    return metastore


def calls() -> Iterator[tuple[str, bytes]]:
    t = idl.load()
    yield "set_ugi", arguments("set_ugi", "ann", ["staff", "lake"])
    yield "set_ugi", arguments("set_ugi", "ann", [])
    yield "getMetaConf", arguments("getMetaConf", "metastore.try.direct.sql")
    yield "setMetaConf", arguments("setMetaConf", "metastore.try.direct.sql", "false")
    yield "setMetaConf", arguments("setMetaConf", "no.such.setting", "1")
    yield "get_all_databases", arguments("get_all_databases")
    yield "get_database", arguments("get_database", DB)
    yield "get_database", arguments("get_database", "nowhere")
    yield "get_tables", arguments("get_tables", DB, "*")
    yield "get_table_meta", arguments("get_table_meta", DB, "*", [])
    for name in ("t", "nothing"):
        yield (
            "get_table_req",
            arguments(
                "get_table_req",
                t.GetTableRequest(dbName=DB, tblName=name, processorCapabilities=CAPABILITIES),
            ),
        )
    yield "get_partitions", arguments("get_partitions", DB, "t", -1)
    yield "get_partition_names", arguments("get_partition_names", DB, "t", 5)
    yield "get_partition", arguments("get_partition", DB, "t", ["2026-01-03"])
    yield "get_partition", arguments("get_partition", DB, "t", ["never"])
    yield (
        "get_partitions_by_filter",
        arguments("get_partitions_by_filter", DB, "t", 'ds > "2026-01-20"', -1),
    )
    yield "get_partitions_by_filter", arguments("get_partitions_by_filter", DB, "t", "ds >", -1)
    yield "get_fields", arguments("get_fields", DB, "t")
    yield "get_schema", arguments("get_schema", DB, "t")
    yield "get_table_column_statistics", arguments("get_table_column_statistics", DB, "t", "id")
    yield (
        "get_valid_write_ids",
        arguments("get_valid_write_ids", t.GetValidWriteIdsRequest(fullTableNames=[f"{DB}.t"])),
    )
    yield "get_open_txns", arguments("get_open_txns")
    yield "get_config_value", arguments("get_config_value", "metastore.warehouse.dir", "")
    yield "get_current_notificationEventId", b"\0"
    yield (
        "get_next_notification",
        arguments("get_next_notification", t.NotificationEventRequest(lastEvent=0, maxEvents=30)),
    )
    yield "get_table", b"\0"
    yield "no_such_method", b"\x0b\0\1\0\0\0\2hi\0"
    yield "get_catalogs", b"\0"


async def test_replies_are_those_of_the_metastore_to_the_byte(filled: Instances) -> None:
    address = ThriftUrl(filled.addresses[0]).address
    direct_reader, direct_writer = await asyncio.open_connection(*address)
    direct = Client(direct_reader, direct_writer)
    async with serving(upstream=UpstreamSettings((address,))) as here:
        through = await here.connect()
        for number, (method, body) in enumerate(calls()):
            call = message(method, body, sequence=number)
            replies = []
            for client in (direct, through):
                client.send(call)
                reply = await client.reply()
                assert reply is not None, method
                replies.append(reply.data)
            assert replies[0] == replies[1], method
            assert f'method="{method}"' in here.metrics() or method == "set_ugi"
        await direct.close()


async def test_calls_that_were_sent_at_once_are_answered_in_their_order(filled: Instances) -> None:
    address = ThriftUrl(filled.addresses[0]).address
    questions = [one for one in calls() if one[0] not in ("set_ugi", "setMetaConf")]
    async with serving(upstream=UpstreamSettings((address,))) as here:
        client = await here.connect()
        client.send(
            b"".join(
                message(method, body, sequence=number)
                for number, (method, body) in enumerate(questions * 3)
            )
        )
        for number, (method, _) in enumerate(questions * 3):
            reply = await client.reply()
            assert reply is not None
            assert (reply.method, reply.sequence) == (method, number)
