"""From writers that overlap to a worker that knows what came of it: only what they left in doubt
is read again."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from connectors import topic_admin
from connectors.loads.images import partition_image
from hive.names import table_name
from hive.reader.engines import unpooled_engine
from hive.reader.partitions import partition_names, read_named_partitions
from hive.reader.snapshot import open_snapshot
from hive.reader.tables import read_named_tables
from hive.schema import Version
from processors.worker.worker import Worker
from state.records.routing import table_shard
from state.shard_reader import ShardReader
from state.tables import TableState
from state.topic import TopicClient
from tests.connectors.connector_runs import new_topic
from tests.connectors.loads.loading import connecting
from tests.processors.worker.in_process import until, working
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.metastore import Instances
from tests.support.hive.overlaps import overlap

pytestmark = pytest.mark.hive
SHARDS = 2
DB = "rereads"
TABLE = table_name(None, DB, "t")


def reader(worker: Worker) -> ShardReader:
    snapshot = worker.snapshot(table_shard(TABLE, SHARDS))
    assert snapshot is not None
    return ShardReader(snapshot)


def state(worker: Worker) -> TableState | None:
    return reader(worker).state(TABLE)


def is_warm(worker: Worker, upto: int) -> bool:
    if worker.snapshot(table_shard(TABLE, SHARDS)) is None:
        return False
    head, known = reader(worker).head, state(worker)
    return known is not None and head.applied >= upto and not known.cold(head.applied, head.floor)


def stored(url: str) -> dict[tuple[str, ...], bytes]:
    engine = unpooled_engine(url)
    with open_snapshot(engine, Version.V4_1) as snapshot:
        [table] = read_named_tables(snapshot, TABLE.database, [TABLE.table])
        names = partition_names(snapshot, table.id)
        images = map(partition_image, read_named_partitions(snapshot, TABLE, table.id, names))
        stored_images = {image.values: image.data for image in images}
    engine.dispose()
    return stored_images


def alter_twice(metastore: Instances, partition: Any, table: Any) -> None:
    """One partition, alone and among several, by writers that don't know of each other."""

    def alone(client: HmsClient) -> None:
        partition.parameters = {**partition.parameters, "k1": "new"}
        client.rpc.alter_partition(DB, "t", partition)

    def among_several(client: HmsClient) -> None:
        [same, *_] = stale
        same.parameters = {**same.parameters, "k2": "new"}
        client.alter_partitions(table, [same])

    with metastore.connect() as client:
        stale = client.partitions(DB, "t")
    assert overlap(metastore, alone, among_several) == [None, None]


async def test_a_partition_in_doubt_is_read_again(
    metastore: Instances, kafka_broker: str, tmp_path: Path
) -> None:
    events = new_topic(kafka_broker, SHARDS)
    topic_admin.create(events)
    with metastore.connect() as client:
        client.create_database(DB)
        table = objects.table(DB, "t", {"id": "bigint"}, {"ds": "string"}, transactional=False)
        table = client.create_table(table)
        client.add_partitions(table, [["a"], ["b"]])
        [partition, *_] = client.partitions(DB, "t")
        with connecting(unpooled_engine(metastore.database_url), events):
            description = TopicClient(events.servers, events.name).describe()
            async with working(description, tmp_path) as worker:
                # The log tells of the table from its creation on.
                await until(lambda: is_warm(worker, client.position()))
                before = state(worker)
                await asyncio.to_thread(alter_twice, metastore, partition, table)
                position = client.position()
                await until(lambda: is_warm(worker, position))
                after = state(worker)
                assert before is not None
                assert before.loads.ended is not None
                assert after is not None
                assert after.loads.ended is not None
                assert after.loads.ended.lo == before.loads.ended.lo, "the whole table was loaded"
                folded = {values: entry.data for values, entry in reader(worker).partitions(TABLE)}
                assert folded == stored(metastore.database_url)
