"""All fields of all objects, each unset, set and changed, as creates and alters store them in a
real Hive 4.2 metastore: caches of its log and of its rows answer what it answers."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from thriftpy2.thrift import TException
from thriftpy2.transport import TTransportException

from hive.thrift.plain_values import differences
from hive.thrift.structs import DATABASE, FUNCTION, PARTITION, TABLE
from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.thrift.call import CallAnswer, RelayReason
from query_api.thrift.methods import CachedMethods
from tests.query_api.thrift.methods import caches, wire
from tests.query_api.thrift.methods.comparison import ask, whole
from tests.query_api.thrift.methods.corpus import Call
from tests.query_api.thrift.methods.fields import Path, walk
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import CAPABILITIES, HmsClient
from tests.support.hive.metastore import Instances

pytestmark = pytest.mark.hive
COLUMNS = {"a": "int", "b": "string"}
KEYS = {"p": "string"}
LEFT_TO_IT = ("get_partition", "get_table_meta", "get_database_req")
"""What the cache may leave to the metastore."""
ALWAYS_SET = {"col", "skewedColNames"}
"""Without them the rest of a sort order or of skew means nothing. The metastore stores that all the
same, and loads read it otherwise: an empty name, and no values of skew."""
UNSET = 2
STEPS = (1, UNSET)
"""Which value an alter gives to a field that was created with the value 0, one after the other."""


class Object(NamedTuple):
    """One whose field at a path is changed."""

    path: Path
    name: str
    """Of the table, database or function; a partition is its table's only one."""

    def value(self, number: int) -> Any:
        if number == UNSET:
            return self.path.values[0] if self.path.names[-1] in ALWAYS_SET else None
        return self.path.values[number]


class Walk:
    """Makes objects of a kind, and alters them. What the metastore refuses is passed over."""

    def __init__(self, client: HmsClient, db: str, folder: str) -> None:
        self.client, self.db, self.folder = client, db, folder
        self.refused: list[str] = []
        self.objects: list[Object] = []

    def begin(self, number: int) -> None:
        """One object for each field, with this value."""
        for at, path in enumerate(self.paths()):
            one = Object(path, f"{self.db}_{number}_{at}")
            if self._taken(self.create, one, number):
                self.objects.append(one)

    def go_on(self, number: int) -> None:
        for one in self.objects:
            self._taken(self.alter, one, number)

    def _taken(self, write: Callable[[Object, Any], None], object_: Object, number: int) -> bool:
        try:
            write(object_, object_.value(number))
        except (TException, OSError) as error:
            self.refused.append(f"{object_.path} {number}: {error!r}"[:200])
            if isinstance(error, TTransportException | OSError):
                self.client.rpc.close()
                self.client.rpc._iprot.trans.open()
            return False
        return True

    def paths(self) -> Iterator[Path]:
        return iter(())

    def create(self, one: Object, value: Any) -> None: ...

    def alter(self, one: Object, value: Any) -> None: ...

    def calls(self) -> Iterator[tuple[Object, Call]]:
        return iter(())


class Tables(Walk):
    def base(self, name: str) -> Any:
        return full_table(self.client, self.db, name, self.folder, transactional=False)

    def paths(self) -> Iterator[Path]:
        names = {("tableName",), ("dbName",), ("catName",)}
        return (p for p in walk(TABLE, self.folder, self.base("t")) if p.names not in names)

    def create(self, one: Object, value: Any) -> None:
        table = one.path.put(self.base(one.name), value)
        request = self.client.t.CreateTableRequest(table=table, processorCapabilities=CAPABILITIES)
        self.client.rpc.create_table_req(request)

    def alter(self, one: Object, value: Any) -> None:
        table = one.path.put(self.client.table(self.db, one.name), value)
        self.client.alter_table(self.db, one.name, table)

    def calls(self) -> Iterator[tuple[Object, Call]]:
        for object_ in self.objects:
            request = wire.request(
                "GetTableRequest",
                dbName=self.db,
                tblName=object_.name,
                catName="hive",
                processorCapabilities=CAPABILITIES,
            )
            yield object_, Call("get_table_req", wire.arguments("get_table_req", request))
            arguments = wire.arguments("get_table_meta", self.db, object_.name, None)
            yield object_, Call("get_table_meta", arguments)


class ManagedTables(Tables):
    def base(self, name: str) -> Any:
        return full_table(self.client, self.db, name, self.folder, transactional=True)


class Views(Tables):
    def base(self, name: str) -> Any:
        view = super().base(name)
        view.tableType = "VIRTUAL_VIEW"
        view.viewOriginalText = view.viewExpandedText = "select 1"
        return view

    def paths(self) -> Iterator[Path]:
        names = ("tableType", "viewOriginalText", "viewExpandedText")
        return (path for path in super().paths() if path.names[0] in names)


class Partitions(Walk):
    """Altered one by one."""

    transactional = False

    def paths(self) -> Iterator[Path]:
        base = full_partition(self.client, self.db, "t", self.folder)
        names = {("values",), ("dbName",), ("tableName",), ("catName",)}
        return (p for p in walk(PARTITION, self.folder, base) if p.names not in names)

    def create(self, one: Object, value: Any) -> None:
        table = objects.table(self.db, one.name, COLUMNS, KEYS, transactional=self.transactional)
        self.client.create_table(table)
        self.client.rpc.add_partition(self.new_partition(one, value))

    def new_partition(self, one: Object, value: Any) -> Any:
        return one.path.put(full_partition(self.client, self.db, one.name, self.folder), value)

    def alter(self, one: Object, value: Any) -> None:
        [partition] = self.client.partitions(self.db, one.name)
        self.store(one, one.path.put(partition, value))

    def store(self, one: Object, partition: Any) -> None:
        self.client.rpc.alter_partition(self.db, one.name, partition)

    def calls(self) -> Iterator[tuple[Object, Call]]:
        for one in self.objects:
            for method in ("get_partitions", "get_partitions_with_auth"):
                yield one, Call(method, wire.arguments(method, self.db, one.name, -1))
            for given in self._alone(one):
                yield one, Call("get_partition", given)

    def _alone(self, one: Object) -> Iterator[bytes]:
        for partition in self.client.partitions(self.db, one.name):
            yield wire.arguments("get_partition", self.db, one.name, partition.values)


class PlainPartitions(Partitions):
    """Their serdes have nothing but a library until an alter sets more."""

    def paths(self) -> Iterator[Path]:
        return (path for path in super().paths() if path.names[:2] == ("sd", "serdeInfo"))

    def new_partition(self, one: Object, value: Any) -> Any:
        partition = full_partition(self.client, self.db, one.name, self.folder)
        partition.sd.serdeInfo = objects.storage(COLUMNS).serdeInfo
        return partition


class PartitionsAtOnce(Partitions):
    def store(self, one: Object, partition: Any) -> None:
        table = self.client.t.Table(dbName=self.db, tableName=one.name)
        self.client.alter_partitions(table, [partition])


class PlainPartitionsAtOnce(PlainPartitions, PartitionsAtOnce):
    pass


class ManagedPartitions(PartitionsAtOnce):
    transactional = True


class RenamedPartitions(Partitions):
    def store(self, one: Object, partition: Any) -> None:
        table = self.client.t.Table(dbName=self.db, tableName=one.name)
        old = list(partition.values)
        partition.values = [f"{old[0]}x"]
        self.client.rename_partition(table, old, partition)


class Databases(Walk):
    def paths(self) -> Iterator[Path]:
        base = full_database("d", self.folder)
        names = {("name",), ("catalogName",)}
        return (p for p in walk(DATABASE, self.folder, base) if p.names not in names)

    def create(self, one: Object, value: Any) -> None:
        folder = f"{self.folder}/{one.name}"
        self.client.rpc.create_database(one.path.put(full_database(one.name, folder), value))

    def alter(self, one: Object, value: Any) -> None:
        request = wire.request("GetDatabaseRequest", name=one.name, catalogName="hive")
        database = self.client.rpc.get_database_req(request)
        self.client.rpc.alter_database(one.name, one.path.put(database, value))

    def calls(self) -> Iterator[tuple[Object, Call]]:
        for one in self.objects:
            request = wire.request("GetDatabaseRequest", name=one.name, catalogName="hive")
            yield one, Call("get_database_req", wire.arguments("get_database_req", request))


class Functions(Walk):
    """Never altered: the log is silent about that."""

    def paths(self) -> Iterator[Path]:
        names = {("functionName",), ("dbName",), ("catName",)}
        base = full_function(self.db, "f")
        return (p for p in walk(FUNCTION, self.folder, base) if p.names not in names)

    def create(self, one: Object, value: Any) -> None:
        self.client.rpc.create_function(one.path.put(full_function(self.db, one.name), value))

    def alter(self, one: Object, value: Any) -> None:
        self.client.rpc.drop_function(self.db, one.name)
        self.create(one, value)


def full_storage(t: Any) -> Any:
    """With every field set."""
    storage = objects.storage(
        COLUMNS,
        bucketCols=["b"],
        numBuckets=3,
        sortCols=[t.Order(col="a", order=1)],
        parameters={"of": "it"},
        skewedInfo=t.SkewedInfo(
            skewedColNames=["a"], skewedColValues=[["1"]], skewedColValueLocationMaps={}
        ),
    )
    serde = storage.serdeInfo
    serde.name, serde.description, serde.serdeType = "serde", "of it", t.SerdeType.HIVE
    serde.serializerClass, serde.deserializerClass = "org.example.In", "org.example.Out"
    return storage


def full_table(client: HmsClient, db: str, name: str, folder: str, *, transactional: bool) -> Any:
    table = objects.table(
        db, name, COLUMNS, KEYS, transactional=transactional, sd=full_storage(client.t)
    )
    if not transactional:
        table.sd.location = f"{folder}/{name}"
    return table


def full_partition(client: HmsClient, db: str, name: str, folder: str) -> Any:
    t = client.t
    storage = full_storage(t)
    storage.location = f"{folder}/{name}/p=1"
    return t.Partition(
        values=["1"],
        dbName=db,
        tableName=name,
        createTime=7,
        lastAccessTime=8,
        sd=storage,
        parameters={"k": "v"},
        catName="hive",
    )


def full_database(name: str, folder: str) -> Any:
    return objects.database(
        name,
        description="of it",
        parameters={"k": "v"},
        locationUri=f"{folder}/ext",
        managedLocationUri=f"{folder}/managed",
    )


def full_function(db: str, name: str) -> Any:
    return objects.function(db, name, "org.example.F")


class World(NamedTuple):
    """A metastore, and caches of it: one follows its events, one is loaded again and again."""

    instances: Instances
    client: HmsClient
    events: caches.Cache
    loaded: caches.Cache
    warehouse: str

    def check(self, walk: Walk, step: str) -> list[str]:
        """Where a cache answers something else than the metastore; misses are counted."""
        self.events.follow()
        self.loaded.load()
        return asyncio.run(self._check(walk, step))

    async def _check(self, walk: Walk, step: str) -> list[str]:
        primary, outcomes = Primary(self.instances.database_url), []
        try:
            caches_by_name = {
                name: caches.methods(cache, primary, Consistency.LATEST, self.warehouse)
                for name, cache in (("events", self.events), ("loaded", self.loaded))
            }
            with wire.connect(self.instances.addresses[0]) as metastore:
                for object_, call in walk.calls():
                    theirs = wire.result(call.method, metastore.call(call.method, call.given))
                    for name, cache in caches_by_name.items():
                        different = await compared(cache, call, theirs)
                        if different:
                            outcomes.append(
                                f"{step} {object_.path} {name} {call.method}: {different}"
                            )
        finally:
            await primary.close()
        return outcomes


async def compared(cache: CachedMethods, call: Call, theirs: Any) -> str:
    answer = await ask(cache, call)
    if not isinstance(answer, CallAnswer):
        # What a table of an unknown type becomes for a client isn't known.
        left = call.method in LEFT_TO_IT or answer.reason is RelayReason.CAPABILITIES
        return "" if left else f"{answer}"
    ours = wire.result(call.method, whole(answer))
    return "; ".join(
        f"{path}: {one!r} for {other!r}" for path, one, other in differences(ours, theirs)
    )


@pytest.fixture(scope="module")
def world(metastore: Instances) -> Iterator[World]:
    with (
        metastore.connect() as client,
        caches.following(metastore.database_url) as events,
        caches.following(metastore.database_url) as loaded,
    ):
        events.load()
        warehouse = client.rpc.get_config_value("metastore.warehouse.dir", "")
        yield World(metastore, client, events, loaded, warehouse)


KINDS: list[Callable[..., Walk]] = [
    Tables,
    ManagedTables,
    Views,
    Partitions,
    PlainPartitions,
    PartitionsAtOnce,
    PlainPartitionsAtOnce,
    ManagedPartitions,
    RenamedPartitions,
    Databases,
    Functions,
]


@pytest.mark.by_turns(4)
@pytest.mark.parametrize("kind", KINDS)
def test_every_field(world: World, kind: Callable[..., Walk]) -> None:
    db = f"fields_{kind.__name__.lower()}"
    world.client.create_database(db)
    folder = world.client.rpc.get_config_value("metastore.warehouse.external.dir", "")
    walk = kind(world.client, db, f"{folder}/{db}")
    walk.begin(UNSET)
    outcomes = world.check(walk, "created without")
    walk.objects.clear()
    walk.begin(0)
    outcomes += world.check(walk, "created")
    for number in STEPS:
        walk.go_on(number)
        outcomes += world.check(walk, "unset" if number == UNSET else f"altered to {number}")
    assert outcomes == []
