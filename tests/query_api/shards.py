"""Shards in memory, folded from records made by hand."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import Any

from hive.names import DatabaseName, TableName, table_name
from hive.thrift.binary import encode
from hive.thrift.structs import DATABASE, PARTITION, TABLE
from processors.fold import Fold
from query_api.shards import Moment, Views
from query_api.targets import Target, TargetKind
from state.kv import View
from state.records import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    LoadRows,
    Rows,
    Scope,
    ScopeKind,
    databases_scope,
    names_scope,
)
from state.records.actions import AnyAction
from state.records.objects import (
    DatabaseImage,
    NameImage,
    PartitionImage,
    TableImage,
    WriteIdsImage,
)
from state.shard_reader import ShardReader
from state.store import Commits, MemoryStore, Store, StorePosition

SALES = DatabaseName("hive", "sales")
ORDERS = table_name(None, "sales", "orders")
ORDERS_ID = 7


def table_bytes(
    name: TableName = ORDERS,
    *,
    keys: tuple[str, ...] = ("ds",),
    parameters: Mapping[str, str] | None = None,
    table_type: str = "MANAGED_TABLE",
    table_id: int = ORDERS_ID,
    write_id: int = 0,
) -> bytes:
    fields: dict[str, Any] = {
        "tableName": name.table,
        "dbName": name.db,
        "owner": "ann",
        "sd": {
            "cols": [{"name": "amount", "type": "bigint"}],
            "location": f"s3a://lake/{name.db}/{name.table}",
            "serdeInfo": {"serializationLib": "o.a.h.hive.ql.io.orc.OrcSerde"},
        },
        "partitionKeys": [{"name": key, "type": "string"} for key in keys],
        "parameters": {"transactional": "true"} if parameters is None else dict(parameters),
        "tableType": table_type,
        "writeId": write_id,
        "id": table_id,
    }
    return encode(TABLE, fields)


def table_image(
    name: TableName = ORDERS,
    *,
    managed: bool = True,
    write_id: int = 0,
    parameters: Mapping[str, str] | None = None,
    table_type: str = "MANAGED_TABLE",
    keys: tuple[str, ...] = ("ds",),
) -> TableImage:
    if parameters is None:
        parameters = {"transactional": "true"} if managed else {"EXTERNAL": "TRUE"}
    data = table_bytes(
        name, keys=keys, parameters=parameters, table_type=table_type, write_id=write_id
    )
    return TableImage(name, ORDERS_ID, write_id, managed, bool(keys), data)


def partition_image(*values: str, name: TableName = ORDERS, write_id: int = 0) -> PartitionImage:
    fields = {
        "values": list(values),
        "dbName": name.db,
        "tableName": name.table,
        "sd": {"location": f"s3a://lake/{'/'.join(values)}", "cols": []},
        "parameters": {"numRows": "1"},
        "writeId": write_id,
    }
    return PartitionImage(values, write_id, 0, encode(PARTITION, fields))


def database_image(db: DatabaseName = SALES) -> DatabaseImage:
    fields = {"name": db.db, "locationUri": f"s3a://lake/{db.db}", "catalogName": db.catalog}
    return DatabaseImage(db, encode(DATABASE, fields))


def name_image(table: str, table_type: str = "MANAGED_TABLE") -> NameImage:
    return NameImage(table, table_type, "ann", None, 1)


def change(upto: int, *actions: AnyAction, after: int | None = None, mark: int = 0) -> Change:
    return Change(0, upto - 1 if after is None else after, upto, actions, mark=mark)


def load(
    scope: Scope, lo: int, rows: Rows, *, hi: int | None = None, ends: bool = True
) -> list[AnyRecord]:
    """A load in one chunk, or what there is of one that never ends."""
    records: list[AnyRecord] = [
        LoadBegin(0, f"load-{lo}", scope),
        LoadRows(0, f"load-{lo}", scope, lo, 0, rows),
    ]
    if ends:
        records.append(LoadEnd(0, f"load-{lo}", scope, lo, lo if hi is None else hi, 1))
    return records


def load_table(
    lo: int,
    *partitions: PartitionImage,
    table: TableImage | None = None,
    write_ids: WriteIdsImage | None = None,
    hi: int | None = None,
    ends: bool = True,
) -> list[AnyRecord]:
    image = table or table_image()
    ids = (write_ids or WriteIdsImage(0, (), ()),) if image.managed else ()
    rows = Rows(tables=(image,), partitions=partitions, write_ids=ids)
    return load(Scope(ScopeKind.TABLE, image.name), lo, rows, hi=hi, ends=ends)


def load_names(lo: int, *names: NameImage, db: DatabaseName = SALES) -> list[AnyRecord]:
    scope = names_scope(db)
    return load(scope, lo, Rows(names=names))


def load_databases(lo: int, *databases: DatabaseImage) -> list[AnyRecord]:
    scope = databases_scope("hive")
    return load(scope, lo, Rows(databases=databases))


class MemoryShard:
    """A shard that a worker owns: what is folded into it is seen at once."""

    def __init__(self, *records: AnyRecord, store: MemoryStore | Store | None = None) -> None:
        self.store = store or MemoryStore()
        self.signals: set[Scope] = set()
        """What the fold has asked for."""
        self._offset = 0
        self._moved = asyncio.Condition()
        self.fold(records)

    @property
    def position(self) -> StorePosition:
        return self.store.position

    @property
    def commits(self) -> Commits:
        return self.store.commits

    def fold(self, records: Iterable[AnyRecord]) -> None:
        for record in records:
            self._commit(partial(Fold.apply, record=record))

    def skip(self) -> None:
        """As if a record had come that can't be read."""
        self._commit(Fold.skip)

    def _commit(self, change: Callable[[Fold], None]) -> None:
        txn = self.store.transaction()
        fold = Fold(txn)
        change(fold)
        self.signals.update(signal.scope for signal in fold.flush())
        self._offset += 1
        position = StorePosition(fold.epoch, fold.applied, self._offset, fold.mark)
        self.store.commit(txn, position)

    def snapshot(self) -> View:
        return self.store.snapshot()

    def reader(self) -> ShardReader:
        return ShardReader(self.snapshot())

    async def move(self, *records: AnyRecord) -> None:
        """Folds, and wakes up those who wait for it."""
        self.fold(records)
        async with self._moved:
            self._moved.notify_all()

    async def complete_up_to(self, epoch: int, event: int, timeout_s: float) -> bool:
        def is_there() -> bool:
            return (self.position.epoch, self.position.applied) >= (epoch, event)

        try:
            async with asyncio.timeout(timeout_s), self._moved:
                await self._moved.wait_for(is_there)
        except TimeoutError:
            return False
        return True


class MemoryShards:
    """A source of shards in memory. Those that are None are another worker's."""

    def __init__(self, *shards: MemoryShard | None) -> None:
        self.shards = list(shards)
        self.epoch: int | None = 0
        self.urls: dict[int, str] = {}
        self.wanted: list[tuple[int, Scope, int]] = []

    @property
    def count(self) -> int:
        return len(self.shards)

    def shard(self, number: int) -> MemoryShard | None:
        return self.shards[number]

    def owner_url(self, number: int) -> str | None:
        return self.urls.get(number)

    def ask_for_load(self, shard: int, scope: Scope, floor: int) -> None:
        self.wanted.append((shard, scope, floor))


def moment(views: Views, *targets: Target) -> Moment:
    """These targets, or a table, as the first shard has them now."""
    reader = views.reader(0)
    assert reader is not None
    moment_of_reader = views.moment(0, reader, targets or (Target(TargetKind.TABLE, ORDERS),))
    assert moment_of_reader is not None
    return moment_of_reader
