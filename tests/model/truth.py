"""Holds what a shard would serve against what the toy metastore's database held."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from hive.names import TableName
from state.records.objects import NameImage
from state.records.routing import home_shard, table_shard
from state.shard_reader import ShardReader
from tests.model import serving
from tests.model.content import (
    Content,
    Table,
    constraint_image,
    database_bytes,
    number_bytes,
    partition_image,
    statistics_image,
)
from tests.model.metastore import DBS, TABLES, History, Moment
from tests.model.serving import ByWriteIds, ReadRequest
from tests.model.topic import SHARDS
from tests.model.world import World


class Truth:
    """The check of a world; `served` counts what was answered from the cache, by kind."""

    def __init__(self) -> None:
        self.served: Counter[str] = Counter()

    def __call__(self, world: World, shard: int) -> None:
        reader = world.shards[shard].reader
        history = world.history(reader.head.epoch)
        content = history.first[reader.head.applied].content
        request = ReadRequest(at_least=serving.position(reader))
        for name in TABLES:
            if table_shard(name, SHARDS) == shard and reader.state(name) is not None:
                self._check_table(reader, content.tables.get(name), name, request)
                self._check_write_ids(world, reader, history, name)
        for db in DBS:
            if home_shard(db, SHARDS) == shard and serving.names(reader, db, request) is None:
                self.served["names"] += 1
                lines = {table.line for table in content.tables_of(db)}
                listed = {
                    NameImage(n.table, n.type, n.owner, n.comment, n.owner_type)
                    for n in reader.names(db)
                }
                assert listed == lines, f"names of {db.db}"
                functions = {n: number_bytes(f) for n, f in content.functions_of(db).items()}
                assert {n: e.data for n, e in reader.functions(db)} == functions, (
                    f"functions of {db.db}"
                )
        if serving.databases(reader, "hive", request) is None:
            self.served["databases"] += 1
            truth = {db.db: database_bytes(row) for db, row in content.databases.items()}
            assert {name: entry.data for name, entry in reader.databases("hive")} == truth

    def _check_table(
        self, reader: ShardReader, truth: Table | None, name: TableName, request: ReadRequest
    ) -> None:
        row = reader.table(name)
        if row is not None and serving.entry(reader, name, row.event, request) is None:
            self.served["table"] += 1
            assert truth is not None, f"{name} is served, and doesn't exist"
            assert row.data == truth.image.data, f"{name} is served as it was not"
        for values, partition in reader.partitions(name):
            if serving.entry(reader, name, partition.event, request) is None:
                self.served["partition"] += 1
                row_of = truth.partitions.get(values) if truth else None
                assert row_of is not None, f"{name} {values} is served, and doesn't exist"
                assert partition.data == partition_image(values, row_of).data, f"{name} {values}"
        if serving.table(reader, name, request) is None:
            self.served["lists"] += 1
            check_all(reader, name, truth)
            state = reader.state(name)
            assert state is not None
            if truth is not None:
                assert (state.id, state.managed) == (truth.row.id, truth.row.managed), name
        if serving.statistics(reader, name, request) is None:
            self.served["statistics"] += 1
            assert seen_statistics(reader, name) == held_statistics(truth), f"{name} statistics"

    def _check_write_ids(
        self, world: World, reader: ShardReader, history: History, name: TableName
    ) -> None:
        for moment in _moments(history, reader.head.applied, len(world.topic.shards[0])):
            table = moment.content.tables.get(name)
            if table is None:
                continue
            for reader_txn in (None, *moment.open[:1]):
                ids = moment.valid_ids(name, reader_txn)
                for newer in (False, True):
                    request = ReadRequest(write_ids=ByWriteIds(ids, table.row.id, newer))
                    if serving.table(reader, name, request) is None:
                        self.served["newer write ids" if newer else "write ids"] += 1
                        check_writes(world, reader, history, moment, name, request.write_ids)


def check_writes(
    world: World,
    reader: ShardReader,
    history: History,
    moment: Moment,
    name: TableName,
    request: ByWriteIds | None,
) -> None:
    """What is served holds the writes of the list, and no others; aborted ones don't matter."""
    assert request is not None
    applied = reader.head.applied
    ended = world.store.ended[world.topic.histories[reader.head.epoch]]
    if _restarted(history, name, applied, moment):
        return
    for write in history.writes:
        aborted = ended.get(write.txn) is not None and ended[write.txn].value == "a"
        same = write.table_id == request.table_id and write.life == moment.lives.get(name)
        if aborted or not same:
            continue
        said = f"{name} {request.ids}: write {write.write_id} of {write.txn} at {write.event}"
        if request.ids.is_valid(write.write_id):
            assert write.event <= applied, f"{said} is missing at {applied}"
        elif write.event <= applied:
            assert request.accept_newer, f"{said} isn't the reader's to see"
            open_then = history.first[applied].open
            assert write.txn not in open_then, f"{said} is not committed at {applied}"


def _restarted(history: History, name: TableName, applied: int, moment_asked: Moment) -> bool:
    """Whether the list may be of another life of the ids than ours, which no list can tell: they
    began anew without an event, and until the next allocation nothing says so."""
    index = next(at for at, moment in enumerate(history.moments) if moment is moment_asked)
    for at in history.restarts:
        event = history.moments[at].event
        restarted = any(
            f"alloc {name.in_catalog} " in history.log[later].text
            for later in range(event + 1, applied + 1)
        )
        if (index >= at and not restarted) or (index < at and event <= applied):
            return True
    return False


def _moments(history: History, applied: int, salt: int) -> Iterator[Moment]:
    """Some of the moments at which a reader may have taken its list."""
    yield history.moments[-1]
    yield history.first[applied]
    yield history.moments[salt * 7 % len(history.moments)]


def check_all(reader: ShardReader, name: TableName, truth: Table | None) -> None:
    """All of a table is as the database held it; constraints may have gone from there unsaid."""
    row, partitions, constraints = in_database(truth)
    own_row, own_partitions, own = in_shard(reader, name)
    said = f"{name} at {reader.head.applied}"
    assert (own_row, own_partitions) == (row, partitions), said
    assert own.items() >= constraints.items(), said


def in_database(table: Table | None) -> Any:
    """What the database holds of a table."""
    if table is None:
        return None, {}, {}
    partitions = {v: partition_image(v, p).data for v, p in table.partitions.items()}
    constraints = {
        tuple(key): constraint_image(key, row).columns for key, row in table.constraints.items()
    }
    return table.image.data, partitions, constraints


def in_shard(reader: ShardReader, name: TableName) -> Any:
    """What a shard holds of a table."""
    row = reader.table(name)
    partitions = {values: entry.data for values, entry in reader.partitions(name)}
    constraints = {(one.name, one.kind): one.columns for one in reader.constraints(name)}
    return (row.data if row else None), partitions, constraints


def held_statistics(table: Table | None) -> Any:
    images = [statistics_image(*it) for it in table.statistics.items()] if table else []
    return {(i.values, i.engine, i.column): (i.data, i.write_id, i.last_analyzed) for i in images}


def seen_statistics(reader: ShardReader, name: TableName) -> Any:
    of_table = [(None, one) for one in reader.table_statistics(name)]
    return {
        (values, one.engine, one.column): (one.data, one.write_id, one.last_analyzed)
        for values, one in [*of_table, *reader.all_partition_statistics(name)]
    }


def content_at(world: World, reader: ShardReader) -> Content:
    return world.history(reader.head.epoch).first[reader.head.applied].content
