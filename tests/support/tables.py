"""A metastore in memory: random events, and what each table was after each of them."""

from bisect import bisect_right
from collections.abc import Iterator
from hashlib import blake2b
from random import Random

from connectors.publish.translate import Addressed, Everywhere
from hive.names import TableName
from state.records import AnyRecord, LoadBegin, LoadEnd, LoadRows, Rows, Scope, ScopeKind
from state.records.actions import (
    AbortTxn,
    AllocateWriteIds,
    AlterPartition,
    CommitTxn,
    CreateTable,
    DropPartitions,
    DropTable,
    PutPartitions,
    RenameTable,
    Side,
)
from state.records.objects import PartitionImage, TableImage, WriteIdsImage, fingerprint
from state.records.routing import table_shard
from tests.support.kafka.topics import Publisher


def digest_of(table: bytes, partitions: dict[str, bytes]) -> str:
    """The digest of a table with its partitions, as readers see it."""
    digest = blake2b(table, digest_size=8)
    for value, data in sorted(partitions.items()):
        digest.update(b"%d:%s%d:%s" % (len(value), value.encode(), len(data), data))
    return digest.hexdigest()


class Table:
    """The current state of one table."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.partitions: dict[str, bytes] = {}


class Metastore:
    """Generates events, and remembers what a reader must see at each of them."""

    def __init__(self, tables: int, shards: int, seed: int) -> None:
        self.event = 0
        self._names = [TableName("hive", "db", f"t{number}") for number in range(tables)]
        self._shards = shards
        self._random = Random(seed)
        self._tables: dict[TableName, Table] = {}
        self._history: dict[str, tuple[list[int], list[str | None]]] = {}
        self._publisher = Publisher(shards)
        self._txn = 0
        self._loads = 0

    def records(self, events: int) -> Iterator[tuple[int, AnyRecord]]:
        """The records of so many new events."""
        for _ in range(events):
            yield from self._next_change()

    def progress(self) -> Iterator[tuple[int, AnyRecord]]:
        """Records that tell all shards that they are complete up to the current event."""
        yield from self._publisher.progress(self.event)

    def was(self, table: str, event: int) -> str | None:
        """The digest that a reader must see of a table at this event; None if there is no such
        table.
        """
        events, digests = self._history.get(table, ([], []))
        at = bisect_right(events, event)
        return digests[at - 1] if at else None

    def _next_change(self) -> Iterator[tuple[int, AnyRecord]]:
        random = self._random
        name = random.choice(self._names)
        table = self._tables.get(name)
        draw = random.random()
        if table is None:
            data = random.randbytes(40)
            self._tables[name] = Table(data)
            yield from self._publish((name, CreateTable(_image(name, data))))
            self._remember(name)
        elif draw < 0.15:
            yield from self._transaction(name)
        elif draw < 0.17:
            yield from self._drop(name)
        elif draw < 0.20:
            yield from self._rename(name, table)
        elif draw < 0.23:
            yield from self._load(name, table)
        else:
            yield from self._write(name, table, draw)

    def _write(self, name: TableName, table: Table, draw: float) -> Iterator[tuple[int, AnyRecord]]:
        random = self._random
        value, data = str(random.randrange(40)), random.randbytes(60)
        before = table.partitions.get(value)
        if before is None:
            table.partitions[value] = data
            yield from self._publish((name, PutPartitions(name, 0, (_part(value, data),), True)))
        elif draw < 0.4:
            del table.partitions[value]
            yield from self._publish((name, DropPartitions(name, ((value,),))))
        else:
            table.partitions[value] = data
            image = _part(value, data)
            action = AlterPartition(name, 0, (value,), fingerprint(before), image, False)
            yield from self._publish((name, action))
        self._remember(name)

    def _transaction(self, name: TableName) -> Iterator[tuple[int, AnyRecord]]:
        self._txn += 1
        yield from self._publish((name, AllocateWriteIds(name, (self._txn,), (self._txn,))))
        committed = self._random.random() < 0.7
        action = CommitTxn(self._txn, None) if committed else AbortTxn(self._txn)
        yield from self._publish((Everywhere(), action))

    def _drop(self, name: TableName) -> Iterator[tuple[int, AnyRecord]]:
        del self._tables[name]
        yield from self._publish((name, DropTable(name)))
        self._remember(name)

    def _rename(self, name: TableName, table: Table) -> Iterator[tuple[int, AnyRecord]]:
        free = [one for one in self._names if one not in self._tables]
        if not free:
            return
        new = self._random.choice(free)
        del self._tables[name]
        self._tables[new] = table
        image = _image(new, table.data)
        yield from self._publish(
            (name, RenameTable(name, image, Side.OLD)), (new, RenameTable(name, image, Side.NEW))
        )
        self._remember(name)
        self._remember(new)
        yield from self._load(new, table)

    def _load(self, name: TableName, table: Table) -> Iterator[tuple[int, AnyRecord]]:
        """The records of a load, read in one transaction, so that `lo` equals `hi`."""
        yield from self.progress()
        self._loads += 1
        load, scope, at = str(self._loads), Scope(ScopeKind.TABLE, name), self.event
        shard = table_shard(name, self._shards)
        images = tuple(_part(value, data) for value, data in table.partitions.items())
        half = len(images) // 2
        whole = (_image(name, table.data),)
        first = Rows(tables=whole, partitions=images[:half], write_ids=(WriteIdsImage(0, (), ()),))
        yield shard, LoadBegin(0, load, scope)
        yield shard, LoadRows(0, load, scope, at, 0, first)
        yield shard, LoadRows(0, load, scope, at, 1, Rows(partitions=images[half:]))
        yield shard, LoadEnd(0, load, scope, at, at, 2)

    def _publish(self, *addressed: Addressed) -> Iterator[tuple[int, AnyRecord]]:
        self.event += 1
        yield from self._publisher.event(self.event, [*addressed])

    def _remember(self, name: TableName) -> None:
        events, digests = self._history.setdefault(name.table, ([], []))
        table = self._tables.get(name)
        events.append(self.event)
        digests.append(None if table is None else digest_of(table.data, table.partitions))


def _image(name: TableName, data: bytes) -> TableImage:
    return TableImage(name, 1, 0, managed=False, partitioned=True, data=data)


def _part(value: str, data: bytes) -> PartitionImage:
    return PartitionImage((value,), 0, 1, data)
