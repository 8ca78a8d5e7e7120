"""A shard of one table, and the records that fill it."""

from typing import Any

from hive.events import accuracy
from hive.names import table_name
from hive.thrift.binary import encode
from hive.thrift.structs import TABLE as TABLE_STRUCT
from processors.fold import Fold
from state import entries, keys, shard_head
from state.loads import Cold
from state.records import AnyRecord, Change, LoadBegin, LoadEnd, LoadRows, Rows, Scope, ScopeKind
from state.records.actions import DropPartitions, PutPartitions, PutPartitionStatistics
from state.records.objects import ColumnStatisticsImage, PartitionImage, TableImage
from state.shard_head import ShardHead
from state.shard_reader import ShardReader
from state.store import MemoryStore, StorePosition
from state.tables import TableState, decode

TABLE = table_name(None, "db", "t")
SCOPE = Scope(ScopeKind.TABLE, TABLE)
IDS = Scope(ScopeKind.WRITE_IDS, TABLE)


def image(data: bytes = b"table") -> TableImage:
    return TableImage(TABLE, 7, 0, managed=False, partitioned=True, data=data)


def managed() -> TableImage:
    return TableImage(TABLE, 7, 0, managed=True, partitioned=True, data=b"table")


def table(parameters: dict[str, str], id_: int = 7, write_id: int = 0) -> TableImage:
    """With data that can be read."""
    fields = {"tableName": "t", "dbName": "db", "parameters": parameters, "writeId": write_id}
    data = encode(TABLE_STRUCT, fields)
    return TableImage(TABLE, id_, 0, managed=False, partitioned=False, data=data)


def partition(value: str, data: bytes = b"p") -> PartitionImage:
    return PartitionImage((value,), 0, 1, data)


def add(*values: str, data: bytes = b"p") -> PutPartitions:
    return PutPartitions(TABLE, 0, tuple(partition(value, data) for value in values), added=True)


def written(write_id: int, value: str = "a") -> PutPartitions:
    rows = (PartitionImage((value,), write_id, 1, b"p"),)
    return PutPartitions(TABLE, write_id, rows, added=True)


def drop(*values: str) -> DropPartitions:
    return DropPartitions(TABLE, tuple((value,) for value in values))


def change(upto: int, *actions: object, after: int | None = None, epoch: int = 0) -> Change:
    return Change(epoch, upto - 1 if after is None else after, upto, actions)  # type: ignore[arg-type]


class Shard:
    """A store and its fold, one batch a record."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.floors: dict[Scope, int] = {}
        """The floor of the last signal for each scope."""

    def fold(self, *records: AnyRecord) -> list[Scope]:
        signals = []
        for record in records:
            txn = self.store.transaction()
            fold = Fold(txn)
            fold.apply(record)
            folded = fold.flush()
            signals += [signal.scope for signal in folded]
            self.floors.update(folded)
            self.store.commit(txn, StorePosition(applied=fold.applied))
        return signals

    def skip(self) -> None:
        """As if a record had come that can't be read."""
        txn = self.store.transaction()
        fold = Fold(txn)
        fold.skip()
        assert fold.flush() == []
        self.store.commit(txn, StorePosition(applied=fold.applied))

    def partitions(self) -> dict[str, bytes]:
        prefix = keys.of_table(keys.PARTITION, TABLE)
        by_values = {}
        for key, value in self.store.snapshot().scan(prefix, prefix + b"\xff"):
            if entries.is_live(value):
                by_values[keys.partition_values(key)[0]] = entries.data_of(value)
        return by_values

    @property
    def applied(self) -> int:
        return self.head.applied

    @property
    def head(self) -> ShardHead:
        return shard_head.decode(self.store.snapshot().get(keys.HEAD))

    def state(self) -> TableState | None:
        value = self.store.snapshot().get(keys.of_table(keys.TABLE_STATE, TABLE))
        return None if value is None else decode(value)

    def doubtful(self) -> set[tuple[str, ...]]:
        state = self.state()
        return set() if state is None else set(state.doubtful)

    def cold(self) -> Cold | None:
        state = self.state()
        assert state is not None
        head = Fold(self.store.transaction())._work.head
        return state.loads.cold(head.applied, head.floor)


def load(
    lo: int, *values: str, id_: str = "load", hi: int | None = None, data: bytes = b"p"
) -> list[AnyRecord]:
    rows = Rows(tables=(image(),), partitions=tuple(partition(value, data) for value in values))
    return [
        LoadBegin(0, id_, SCOPE),
        LoadRows(0, id_, SCOPE, lo, 0, rows),
        LoadEnd(0, id_, SCOPE, lo, lo if hi is None else hi, 1),
    ]


def whole(scope: Scope, lo: int, **rows: Any) -> list[AnyRecord]:
    return [
        LoadBegin(0, "load", scope),
        LoadRows(0, "load", scope, lo, 0, Rows(**rows)),
        LoadEnd(0, "load", scope, lo, lo, 1),
    ]


def statistics(event: int, fields: int, data: bytes = b"s") -> Change:
    column = ColumnStatisticsImage(("a",), "hive", "c", 0, 1, data, fields)
    told = {accuracy.NAME: '{"COLUMN_STATS":{"c":"true"}}'}
    return change(event, PutPartitionStatistics(TABLE, 0, ("a",), (column,), told, False))


def reader(shard: Shard) -> ShardReader:
    return ShardReader(shard.store.snapshot())
