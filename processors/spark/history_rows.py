"""The history in the topic, as rows: one task a shard decodes its records and folds them.

Times are those at which the brokers received the records.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import chain
from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from hive.errors import RecordFormatError
from hive.names import DatabaseName, TableName
from processors.applier import Applier
from processors.spark.kafka_source import source_options
from processors.spark.records import add
from processors.spark.scratch import scratch
from processors.spark.task import errors_with_shard
from state.loads import Cold
from state.records import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    Reread,
    ResetTable,
    ScopeKind,
    decode,
)
from state.records.actions import AbortTxn, AllocateWriteIds, AnyAction, CommitTxn, subject_of
from state.shard_reader import ShardReader
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, shard_identity
from state.topic import Bounds, Topic

SLICE_RECORDS: Final = 200
"""The number of records between two looks at cold tables; shorter cold times may not show."""
SCHEMA: Final = (
    "kind string, shard int, epoch int, event long, type string, catalog string, db string, "
    "table string, begin_ms long, end_ms long, txn long, reason string, bytes long"
)


class HistoryRow(NamedTuple):
    """A row of `SCHEMA`. `kind` is event, txn or cold."""

    kind: str
    shard: int
    epoch: int
    event: int
    type: str
    catalog: str = ""
    db: str = ""
    table: str = ""
    begin_ms: int = 0
    end_ms: int | None = None
    txn: int | None = None
    reason: str = ""
    bytes: int = 0


def history_rows(
    session: SparkSession, topic: Topic, bounds: dict[int, Bounds], memory_bytes: int
) -> DataFrame:
    """The rows of the whole topic, from its first offset to its present end."""
    starts, ends = (
        ",".join(f'"{shard}":{offset}' for shard, offset in offsets)
        for offsets in (
            [(shard, bound.first) for shard, bound in bounds.items()],
            [(shard, bound.end) for shard, bound in bounds.items()],
        )
    )
    records = (
        session.read.format("kafka")
        .options(**source_options(topic))
        .option("includeHeaders", "true")
        .option("startingOffsets", f'{{"{topic.name}":{{{starts}}}}}')
        .option("endingOffsets", f'{{"{topic.name}":{{{ends}}}}}')
        .load()
        .selectExpr("partition", "offset", "unix_millis(timestamp) AS ms", "value", "headers")
    )
    rows = records.rdd.mapPartitions(partial(_tell, topic, memory_bytes))
    return session.createDataFrame(rows, SCHEMA, verifySchema=False)


def _tell(topic: Topic, memory_bytes: int, rows: Iterable[Any]) -> Iterator[HistoryRow]:
    records = iter(rows)
    first = next(records, None)
    if first is None:
        return
    identity, budget = shard_identity(topic, first.partition), MemoryBudget(memory_bytes)
    with (
        scratch() as folder,
        Store(folder / "store", identity, families=SHARD_FAMILIES, budget=budget) as store,
        errors_with_shard(store),
    ):
        applier, cold = Applier(store), Coldness(store)
        for row in chain((first,), records):
            record = _read(row)
            if record is not None:
                yield from _events(row, record)
                cold.touch(record)
            if row.offset > applier.next_offset:
                applier.commit()
                applier.skip_to(row.offset)
            add(topic, store, applier, row)
            if applier.full or applier.pending >= SLICE_RECORDS:
                applier.commit()
                yield from cold.look(row.ms)
        applier.commit()
        yield from cold.look(row.ms)
        yield from cold.end(row.ms)


def _read(row: Any) -> AnyRecord | None:
    """The record; None if it can't be read."""
    try:
        return decode(bytes(row.value or b""))
    except RecordFormatError:
        return None


def _events(row: Any, record: AnyRecord) -> Iterator[HistoryRow]:
    if not isinstance(record, Change):
        return
    size = len(row.value)
    headers = dict(row.headers or ())
    type_ = bytes(headers.get("event") or b"").decode()
    event_row = HistoryRow(
        "event", row.partition, record.epoch, record.upto, type_, begin_ms=row.ms
    )
    for action in record.actions:
        named = event_row._replace(type=type_ or type(action).__name__, bytes=size)
        size = 0
        match action:
            case AllocateWriteIds(txns=txns):
                for txn in txns:
                    yield named._replace(kind="txn", type="open", txn=txn)
            case CommitTxn(txn=txn):
                yield named._replace(kind="txn", type="committed", txn=txn)
            case AbortTxn(txn=txn):
                yield named._replace(kind="txn", type="aborted", txn=txn)
        name = name_of(action)
        yield named._replace(catalog=name.catalog, db=name.db, table=name.table)


def name_of(action: AnyAction) -> TableName:
    """The table or database that an action concerns; parts that it lacks are empty."""
    subject = subject_of(action)
    if isinstance(subject, DatabaseName):
        return subject.table("")
    return subject or TableName("", "", "")


class Coldness:
    """Tracks which tables of a shard are cold, since when and why."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._since: dict[TableName, tuple[str, int]] = {}
        self._touched: set[TableName] = set()
        self._floor = 0

    def touch(self, record: AnyRecord) -> None:
        """Notes that a record concerns these tables."""
        match record:
            case Change(actions=actions):
                self._touched.update(name_of(action) for action in actions)
            case LoadBegin(scope=scope) | LoadEnd(scope=scope) if scope.kind is ScopeKind.TABLE:
                self._touched.add(scope.name)
            case ResetTable(table=table) | Reread(table=table):
                self._touched.add(table)

    def look(self, now_ms: int) -> Iterator[HistoryRow]:
        """The cold times that have ended by now."""
        reader = ShardReader(self._store.snapshot())
        if reader.head.floor != self._floor:
            # The whole shard has become doubtful, or certain again.
            self._floor = reader.head.floor
            self._touched.update(reader.table_names())
        # The shard may have reached the end of a load that was ahead: no record names its table.
        ahead = {name for name, (why, _) in self._since.items() if why == Cold.AHEAD}
        for name in self._touched | ahead:
            why = self._why(reader, name)
            before = self._since.get(name)
            if before is not None and before[0] != why:
                del self._since[name]
                yield self._cold_time(name, *before, now_ms)
            if why is not None and name not in self._since:
                self._since[name] = why, now_ms
        self._touched.clear()

    def end(self, now_ms: int) -> Iterator[HistoryRow]:
        """The cold times that haven't ended."""
        for name, before in self._since.items():
            yield self._cold_time(name, *before, now_ms)

    def _why(self, reader: ShardReader, name: TableName) -> str | None:
        state = reader.state(name) if name.table else None
        if state is None:
            return None
        return state.why_cold(reader.head.applied, reader.head.floor)

    def _cold_time(self, name: TableName, why: str, begin_ms: int, end_ms: int) -> HistoryRow:
        position = self._store.position
        return HistoryRow(
            *("cold", self._store.identity.shard, position.epoch, position.applied, ""),
            *(name.catalog, name.db, name.table, begin_ms, end_ms),
            reason=why,
        )
