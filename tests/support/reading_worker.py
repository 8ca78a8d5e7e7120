"""A worker whose process also reads its shards, and records the answers.

A line of the file TEST_READS is [shard, epoch, event id, table, digest], as read from one snapshot.
"""

import asyncio
import json
import os
import sys
from random import Random
from typing import TextIO

from hive.errors import ClosedStoreError, ColdShardError
from hive.names import TableName
from metatide.cli.work import _settings
from metatide.config import load
from metatide.worker.application import status_application
from metatide.worker.reporter import Reporter
from processors.worker.worker import Worker
from query_api.http import ReadServer
from query_api.http.gate import Gate
from state.records.routing import table_shard
from state.shard_reader import ShardReader
from state.store import StoreSnapshot
from tests.support.tables import digest_of

READ_EVERY_S = 0.01


def answer_of(snapshot: StoreSnapshot, table: TableName) -> tuple[int, int, str, str | None] | None:
    """The cache's answer to a reader; None if the database would answer."""
    reader = ShardReader(snapshot)
    state, head = reader.state(table), reader.head
    if state is None or state.loads.cold(head.applied, head.floor) is not None:
        return None
    position = snapshot.position
    assert (position.epoch, position.applied) == (head.epoch, head.applied)
    entry = reader.table(table)
    partitions = {values[0]: one.data for values, one in reader.partitions(table)}
    digest = None if entry is None else digest_of(entry.data, partitions)
    return head.epoch, head.applied, table.table, digest


def read(worker: Worker, table: TableName, out: TextIO) -> None:
    assert worker.topic is not None
    shard = table_shard(table, worker.topic.shards)
    snapshot = worker.snapshot(shard)
    try:
        answer = None if snapshot is None else answer_of(snapshot, table)
    except (ClosedStoreError, ColdShardError):
        # The shard was closed during the read, so the database would answer.
        return
    if answer is not None:
        out.write(json.dumps([shard, *answer]) + "\n")


async def main() -> None:
    config, random = load().config, Random(os.getpid())
    tables = [TableName("hive", "db", f"t{n}") for n in range(int(os.environ["TEST_TABLES"]))]
    worker = Worker(_settings(config, config.worker.port))
    server = ReadServer(
        status_application(Reporter(worker), Gate()), "127.0.0.1", config.worker.port
    )
    serving = asyncio.create_task(server.serve())
    working = asyncio.create_task(worker.run())
    loop = asyncio.get_running_loop()
    loop.add_signal_handler(15, working.cancel)
    with open(os.environ["TEST_READS"], "a", buffering=1) as out:  # noqa: PTH123
        while not working.done():
            if worker.topic is not None:
                read(worker, random.choice(tables), out)
            await asyncio.sleep(READ_EVERY_S)
    server.end()
    await serving
    if not working.cancelled():
        working.result()


if __name__ == "__main__":
    sys.setswitchinterval(0.001)
    asyncio.run(main())
