"""Loads of the toy metastore's database, read at one moment or over several."""

from collections.abc import Iterable
from dataclasses import dataclass, field

from hive.names import DatabaseName, TableName
from hive.write_ids.lists import WriteIdList
from hive.write_ids.snapshot import WriteIdRow, loaded_write_ids, open_txns
from state.records import LoadBegin, LoadEnd, LoadRows, Reread, Rows, Scope, ScopeKind, names_scope
from state.records.objects import DatabaseImage, FunctionImage, PartitionImage, WriteIdsImage
from state.records.routing import home_shard, table_shard
from tests.model.content import Values, database_bytes, number_bytes, partition_image
from tests.model.metastore import DBS, TABLES, Moment
from tests.model.topic import SHARDS, Topic

NOWHERE = Scope(ScopeKind.DATABASES, TableName("hive", "", ""))


def table_scope(table: TableName) -> Scope:
    return Scope(ScopeKind.TABLE, table)


def ids_scope(table: TableName) -> Scope:
    return Scope(ScopeKind.WRITE_IDS, table)


def places() -> list[tuple[int, Scope]]:
    """Every scope, with the shard that it is loaded into."""
    found = [(table_shard(table, SHARDS), table_scope(table)) for table in TABLES]
    found += [(table_shard(table, SHARDS), ids_scope(table)) for table in TABLES]
    found += [(home_shard(db, SHARDS), names_scope(db)) for db in DBS]
    return found + [(shard, NOWHERE) for shard in range(SHARDS)]


@dataclass
class Load:
    """One load: it begins, reads its portions, sends chunks, and ends, if it isn't given up."""

    id: str
    epoch: int
    history: int
    shard: int
    scope: Scope
    lo: int = -1
    hi: int = -1
    chunks: list[Rows] = field(default_factory=list)
    sent: set[int] = field(default_factory=set)
    _txns: WriteIdList | None = None
    _ids: list[WriteIdRow] = field(default_factory=list)

    def begin(self, topic: Topic) -> None:
        topic.send(self.shard, LoadBegin(self.epoch, self.id, self.scope))

    @property
    def portions(self) -> int:
        """How many statements it takes."""
        return {ScopeKind.TABLE: 7, ScopeKind.WRITE_IDS: 3}.get(self.scope.kind, 2)

    @property
    def read_all(self) -> bool:
        return len(self.chunks) == self.portions

    def read(self, moment: Moment, portions: int) -> None:
        """Reads so many more portions, all at this moment."""
        if self.lo < 0:
            self.lo = moment.event
        for _ in range(min(portions, self.portions - len(self.chunks))):
            self.chunks.append(self._read(moment, len(self.chunks)))
        self.hi = moment.event

    def send(self, topic: Topic, number: int) -> None:
        rows = self.chunks[number]
        self.sent.add(number)
        record = LoadRows(self.epoch, self.id, self.scope, self.lo, number, rows)
        topic.send(self.shard, record)

    def end(self, topic: Topic) -> None:
        record = LoadEnd(self.epoch, self.id, self.scope, self.lo, self.hi, self.portions)
        topic.send(self.shard, record)

    def _read(self, moment: Moment, portion: int) -> Rows:
        match self.scope.kind:
            case ScopeKind.TABLE if portion < 4:
                return _table_rows(moment, self.scope.name)[portion]
            case ScopeKind.TABLE:
                return self._read_ids(moment, portion - 4)
            case ScopeKind.WRITE_IDS:
                return self._read_ids(moment, portion)
            case ScopeKind.NAMES:
                db = DatabaseName(self.scope.name.catalog, self.scope.name.db)
                return _names_rows(moment, db)[portion]
            case ScopeKind.DATABASES:
                databases = moment.content.databases.items()
                rows = (
                    DatabaseImage(db, database_bytes(row))
                    for db, row in databases
                    if _portion((db.db,)) == portion
                )
                return Rows(databases=tuple(rows))
            case ScopeKind.OBJECTS:
                raise AssertionError("objects are reread")

    def _read_ids(self, moment: Moment, statement: int) -> Rows:
        """Transactions, then their write ids, then the next one: the list is made of all."""
        table = self.scope.name
        if statement == 0:
            self._txns = open_txns(moment.txn_rows())
        elif statement == 1:
            self._ids = moment.id_rows(table)
        else:
            assert self._txns is not None
            next_id = moment.next_ids.get(table)
            loaded = loaded_write_ids(self.lo, moment.event, self._txns, self._ids, next_id)
            return Rows(write_ids=(WriteIdsImage(loaded.hwm, loaded.open, loaded.aborted),))
        return Rows()


def reread(moment: Moment, epoch: int, name: TableName, objects: Iterable[Values]) -> Reread:
    """These objects of a table as they are now."""
    table = moment.content.tables.get(name)
    wanted = tuple(objects)
    if table is None:
        return Reread(epoch, name, moment.event, 0, wanted, Rows())
    rows = Rows(
        tables=(table.image,) if () in wanted else (),
        partitions=tuple(table.partition(v) for v in wanted if v in table.partitions),
    )
    return Reread(epoch, name, moment.event, table.row.id, wanted, rows)


def _table_rows(moment: Moment, name: TableName) -> list[Rows]:
    table = moment.content.tables.get(name)
    if table is None:
        return [Rows()] * 4
    partitions: tuple[list[PartitionImage], list[PartitionImage]] = ([], [])
    for values, row in table.partitions.items():
        partitions[_portion(values)].append(partition_image(values, row))
    return [
        Rows(tables=(table.image,)),
        Rows(partitions=tuple(partitions[0])),
        Rows(partitions=tuple(partitions[1]), constraints=tuple(table.constraint_images())),
        Rows(statistics=tuple(table.statistics_images())),
    ]


def _portion(key: tuple[str, ...]) -> int:
    """Which of two statements reads a row: told by its key, so that one which stays is read
    whatever else comes and goes between them."""
    return sum("".join(key).encode()) % 2


def _names_rows(moment: Moment, db: DatabaseName) -> list[Rows]:
    names = tuple(table.line for table in moment.content.tables_of(db))
    numbers = moment.content.functions_of(db).items()
    functions = tuple(FunctionImage(name, number_bytes(number)) for name, number in numbers)
    return [Rows(names=names), Rows(functions=functions)]
