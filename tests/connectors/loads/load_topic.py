"""A topic in memory, the connector that fills it, and the fold of it."""

from collections.abc import Callable, Iterable

import sqlalchemy as sa

from connectors.loads.batch import Database
from connectors.loads.plan import everything
from connectors.publish.routing import route
from connectors.publish.translate import translate
from hive.events.decode import decode
from hive.events.row import NotificationRow
from hive.names import parse_table_name
from hive.reader.snapshot import open_snapshot
from hive.schema import Version, metadata
from processors.fold import Fold
from processors.fold.signals import Signal
from state import digest
from state.records import AnyRecord, Change, Scope
from state.records import decode as decode_record
from state.records import encode as encode_record
from state.records.objects import ConstraintKind
from state.records.parts import split
from state.records.table_lists import TableLists
from state.shard_reader import ShardReader
from state.store import MemoryStore, StorePosition

SHARDS = 3


class Shard:
    """One shard, folded as its records come."""

    def __init__(self) -> None:
        self.store = MemoryStore()

    def fold(self, record: AnyRecord) -> list[Signal]:
        txn = self.store.transaction()
        fold = Fold(txn)
        fold.apply(decode_record(encode_record(record)))
        signals = fold.flush()
        self.store.commit(txn, StorePosition(applied=fold.applied))
        return signals

    def reader(self) -> ShardReader:
        return ShardReader(self.store.snapshot())


class Topic:
    """The sink of loads; `meanwhile` runs whenever something was sent or awaited."""

    def __init__(self, position: int, meanwhile: Callable[[], None] = lambda: None) -> None:
        self._shards = [Shard() for _ in range(SHARDS)]
        self._tails = [position] * SHARDS
        self._meanwhile = meanwhile
        self.signals: dict[object, Signal] = {}
        for shard in range(SHARDS):
            self.put(shard, Change(0, position, position))

    @property
    def shards(self) -> int:
        return SHARDS

    @property
    def published(self) -> int:
        return max(self._tails)

    def send(self, shard: int, record: AnyRecord, row_hash: bytes | None = None) -> None:
        self.put(shard, record)
        self._meanwhile()

    def flush(self) -> None:
        self._meanwhile()

    def put(self, shard: int, record: AnyRecord) -> None:
        for signal in self._shards[shard].fold(record):
            self.signals[signal.scope] = signal

    def publish(self, rows: Iterable[NotificationRow], upto: int | None = None) -> None:
        """Events, and that all shards are complete up to there."""
        for row in rows:
            for shard, actions in route(translate(decode(row)), SHARDS).items():
                for part in split(Change(0, self._tails[shard], row.event_id, actions)):
                    self.put(shard, part)
                self._tails[shard] = row.event_id
        if upto is not None:
            for shard, tail in enumerate(self._tails):
                if tail < upto:
                    self.put(shard, Change(0, tail, upto))
                    self._tails[shard] = upto

    def readers(self) -> list[ShardReader]:
        return [shard.reader() for shard in self._shards]


SILENT = {
    "foreign keys": "they go with their parent, or take its new name, and no event says so",
    "bounds of statistics": "an update without them leaves those that are stored, the event says "
    "what was given",
}
"""What a load holds and events don't tell: accepted differences."""


def contents(topic: Topic) -> dict[str, str | None]:
    """The content digest of all shards; None where one of them can't tell."""
    digests: dict[str, str | None] = {}
    for reader in topic.readers():
        for label, value in digest.content(reader.view).items():
            other = digests.setdefault(label, value)
            if other is None or value is None:
                digests[label] = None
            else:
                assert other == value, f"{label} differs between shards"
    return digests


def differences(ours: Topic, other: Topic) -> set[str]:
    """What both know, and not alike, whatever their foreign keys are."""
    first, second = contents(ours), contents(other)
    return {
        label
        for label in first.keys() & second.keys()
        if first[label] != second[label] and _table(ours, label) != _table(other, label)
    }


def _table(topic: Topic, label: str) -> object:
    """Everything of a table but its foreign keys; of other labels nothing that is equal."""
    kind, _, name = label.partition(" ")
    if kind != "table":
        return object()
    table = parse_table_name(name)
    for reader in topic.readers():
        if reader.state(table) is not None:
            entry = reader.table(table)
            return (
                entry and entry.data,
                [(values, one.data) for values, one in reader.partitions(table)],
                [
                    (one.kind, one.name, one.columns)
                    for one in reader.constraints(table)
                    if one.kind is not ConstraintKind.FOREIGN_KEY
                ],
                [(c.engine, c.column, c.data) for c in reader.table_statistics(table)],
                [
                    (values, c.engine, c.column, c.data)
                    for values, c in reader.all_partition_statistics(table)
                ],
            )
    raise AssertionError(f"no shard knows {table}")


class Log:
    """NOTIFICATION_LOG."""

    def __init__(self, engine: sa.Engine, version: Version) -> None:
        self._connection = engine.connect().execution_options(isolation_level="AUTOCOMMIT")
        tables = metadata(version).tables
        self._log, self._sequence = tables["NOTIFICATION_LOG"].c, tables["NOTIFICATION_SEQUENCE"].c

    def position(self) -> int:
        return int(self._connection.scalar(sa.select(self._sequence.NEXT_EVENT_ID)) or 1) - 1

    def close(self) -> None:
        self._connection.close()

    def after(self, event: int, limit: int = 100_000) -> list[NotificationRow]:
        c = self._log
        statement = (
            sa.select(
                *(c.EVENT_ID, c.EVENT_TIME, c.EVENT_TYPE, c.CAT_NAME, c.DB_NAME, c.TBL_NAME),
                *(c.MESSAGE, c.MESSAGE_FORMAT),
            )
            .where(c.EVENT_ID > event)
            .order_by(c.EVENT_ID)
            .limit(limit)
        )
        return [NotificationRow(*row) for row in self._connection.execute(statement)]


def scopes(database: Database) -> list[Scope]:
    with open_snapshot(*database) as snapshot:
        return [one.scope for one in everything(snapshot, TableLists())]
