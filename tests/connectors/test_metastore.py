"""What a real metastore did, published and folded, is what that metastore answers."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from connectors.log.sql_source import SqlSource
from hive.reader.engines import unpooled_engine
from hive.write_ids.relations import equal
from hive.write_ids.text import parse_write_id_list
from state.export import export
from state.shard_reader import ShardReader
from tests.connectors.connector_runs import assert_unbroken, connecting, fold, new_topic, read
from tests.metatide.cli.metastore_answers import COLD_KEYS, WITHOUT_EVENTS, stored, unordered
from tests.support.hive import hms_objects as objects
from tests.support.hive import idl
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.hms_state import state
from tests.support.hive.metastore import Instances, MetastoreFactory, metastores

pytestmark = pytest.mark.hive
COLUMNS = {"id": "bigint", "v": "string"}
KEYS = {"ds": "string"}
WIDE = "é€漢😀"
"""Of these characters, Hive's columns in MySQL hold two."""


UNORDERED = ("constraints", "table_statistics", "partition_statistics")
"""Kinds whose rows a metastore reads in any order: on MariaDB, columns have come in another one."""


def unordered_kind(objects_by_name: dict[str, Any]) -> dict[str, Any]:
    return {
        name: unordered(items) if isinstance(items, dict) else unordered({"": items})
        for name, items in objects_by_name.items()
    }


def script(client: HmsClient, database: str) -> None:
    """A little of everything, half of it on a transactional table."""
    client.create_database(database, description=WIDE)
    managed = client.create_table(objects.table(database, "managed", COLUMNS, KEYS))
    for number, finish in enumerate((client.commit, client.abort, client.commit)):
        txn = client.open_transaction()
        write_id = client.allocate_write_id(txn, database, "managed")
        client.add_partitions(managed, [[f"2026-0{number + 1}-01"]], write_id=write_id)
        finish(txn)
    client.allocate_write_id(client.open_transaction(), database, "managed")
    plain = client.create_table(
        objects.table(
            database,
            "plain",
            COLUMNS,
            KEYS,
            transactional=False,
            owner=WIDE,
            parameters={"comment": WIDE},
        )
    )
    client.add_partitions(plain, [["a=b"], ["c"], ["d"]])
    changed = client.partitions(database, "plain")[:2]
    for altered in changed:
        altered.parameters["note"] = WIDE
    client.alter_partitions(plain, changed)
    client.rpc.drop_partition(database, "plain", ["d"], False)
    client.update_statistics(plain, [objects.long_statistics("id", numNulls=3)])
    client.update_statistics(plain, [objects.long_statistics("id", numDVs=7)], partition="ds=c")
    for partition in (None, "ds=c"):
        client.update_statistics(plain, [text_statistics("v")], partition=partition)
    client.add_not_null(plain, "id", f"{database}_id_is_there")
    client.create_function(database, "f", "org.example.F")
    client.create_table(objects.table(database, "gone", COLUMNS, transactional=False))
    client.rpc.drop_table(database, "gone", False)


def text_statistics(column: str) -> Any:
    """Statistics with a figure that MySQL rounds."""
    t = idl.load()
    figures = t.StringColumnStatsData(maxColLen=9, avgColLen=2 / 3, numNulls=0, numDVs=1)
    data = t.ColumnStatisticsData(stringStats=figures)
    return t.ColumnStatisticsObj(colName=column, colType="string", statsData=data)


@pytest.mark.parametrize("format_", ["json", "gzip"])
def test_what_is_folded_is_what_the_metastore_answers(
    metastore_factory: MetastoreFactory, kafka_broker: str, format_: Any
) -> None:
    running = metastore_factory(instances=2, message_format=format_)
    compare(running, kafka_broker)


@pytest.mark.mariadb
def test_the_same_on_mariadb(new_mariadb_database: Callable[[], str], kafka_broker: str) -> None:
    """In a metastore of its own: of another test's tables, some may be in doubt."""
    with metastores(new_mariadb_database) as factory:
        compare(factory(), kafka_broker)


def compare(running: Instances, broker: str) -> None:
    topic = new_topic(broker, 1)
    source = SqlSource(unpooled_engine(running.database_url))
    with (
        running.connect(0) as client,
        running.connect(len(running.addresses) - 1) as other,
        connecting(source, topic) as connector,
    ):
        script(client, "shop")
        script(other, "bank")
        answered = state(client)
        connector.until_position(answered["event_id"])
    messages = read(topic)
    assert assert_unbroken(messages, topic) >= answered["event_id"]
    exported = json.loads(json.dumps(export(ShardReader(fold(messages).snapshot()))))
    for kind in answered.keys() - {"event_id"}:
        cold = exported["cold"].get(COLD_KEYS.get(kind, ""), {})
        # Nobody asks for the write ids of a table that isn't transactional.
        assert [name for name in cold if not name.endswith(".plain")] == [], kind
        assert not cold or kind == "valid_write_ids", kind
        expected = {
            name: value
            for name, value in answered[kind].items()
            if name not in WITHOUT_EVENTS.get(kind, ())
        }
        if kind in UNORDERED:
            expected = unordered_kind(expected)
            exported[kind] = unordered_kind(exported[kind])
        if kind == "valid_write_ids":
            expected = {name: value for name, value in expected.items() if "managed" in name}
            exported[kind] = {
                name: value for name, value in exported[kind].items() if "managed" in name
            }
            assert exported[kind].keys() == expected.keys()
            # A housekeeper may have forgotten aborted ids by now, which no event tells.
            for name, text in expected.items():
                assert equal(
                    parse_write_id_list(text), parse_write_id_list(exported[kind][name])
                ), name
            continue
        assert exported[kind] == stored(expected), kind
