"""The type of a column decides what is told of it: statistics of all types, each written as every
kind that a client may send, by a real Hive 4.2 metastore and by caches of its log and its rows."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise
from typing import Any, Final, NamedTuple

import pytest

from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.thrift.call import CallAnswer
from query_api.thrift.methods import CachedMethods
from tests.query_api.thrift.methods import caches, wire
from tests.query_api.thrift.methods.comparison import ask, whole
from tests.query_api.thrift.methods.corpus import Call
from tests.support.hive import hms_objects as objects
from tests.support.hive import idl
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.metastore import Instances

pytestmark = [pytest.mark.hive, pytest.mark.by_turns(2, of="metastores")]
TYPES: Final = (
    *("tinyint", "smallint", "int", "bigint", "float", "double", "decimal", "decimal(10,2)"),
    *("date", "timestamp", "timestamp with local time zone", "boolean", "binary", "string"),
    *("char(3)", "varchar(5)", "interval_day_time", "interval_year_month", "void"),
    *("array<int>", "map<string,int>", "struct<a:int>", "uniontype<int,string>"),
)
COLUMNS: Final = {f"c{number}": type_ for number, type_ in enumerate(TYPES)}
ENGINES: Final = ("hive", "impala")
PARTITIONS: Final = ("p=1", "p=2")
SAID_TYPES: Final = {"c1": "STRING", "c3": "Timestamp", "c13": "bigint", "c8": "unheard of"}
"""Clients may also say another type than the column's."""


def kinds(number: int) -> dict[str, Any]:
    """Every kind of figures, with values that tell writes apart."""
    t = idl.load()
    counts = {"numNulls": number, "numDVs": number + 1}
    lengths = {"maxColLen": 9 + number, "avgColLen": 1.5 * number}
    low, high = (t.Decimal(unscaled=data, scale=2) for data in (b"\0\0\x80", bytes([1, number])))
    return {
        "boolean": t.BooleanColumnStatsData(numTrues=number, numFalses=2, numNulls=3),
        "long": t.LongColumnStatsData(lowValue=-number, highValue=2**33, **counts),
        "double": t.DoubleColumnStatsData(lowValue=-0.5 * number, highValue=2.5, **counts),
        "string": t.StringColumnStatsData(**lengths, **counts),
        "binary": t.BinaryColumnStatsData(numNulls=number, **lengths),
        "decimal": t.DecimalColumnStatsData(lowValue=low, highValue=high, **counts),
        "date": t.DateColumnStatsData(lowValue=t.Date(daysSinceEpoch=number), **counts),
        "timestamp": t.TimestampColumnStatsData(
            highValue=t.Timestamp(secondsSinceEpoch=number), bitVectors=b"HL\x01", **counts
        ),
    }


KINDS: Final = tuple(kinds(1))


def write(
    client: HmsClient, table: Any, kind: str, number: int, said: Mapping[str, str] = COLUMNS
) -> None:
    """Figures of one kind of all columns, of a table and its partitions, by both engines."""
    t, level = client.t, not table.partitionKeys
    for at, engine in enumerate(ENGINES):
        for more, partition in enumerate((None,) if level else PARTITIONS):
            data = kinds(number + 10 * at + 20 * more)[kind]
            columns = [
                t.ColumnStatisticsObj(
                    colName=column,
                    colType=type_,
                    statsData=t.ColumnStatisticsData(**{f"{kind}Stats": data}),
                )
                for column, type_ in said.items()
            ]
            description = t.ColumnStatisticsDesc(
                isTblLevel=level,
                dbName=table.dbName,
                tableName=table.tableName,
                partName=partition,
                catName="hive",
            )
            written = t.ColumnStatistics(statsDesc=description, statsObj=columns, engine=engine)
            request = t.SetPartitionsStatsRequest(colStats=[written], needMerge=False)
            if level:
                client.rpc.update_table_column_statistics_req(request)
            else:
                client.rpc.update_partition_column_statistics_req(request)


def calls(table: Any, columns: Iterable[str]) -> Iterator[Call]:
    """All that tell statistics, a column at a time: one that can't be told spoils an answer."""
    place = {"catName": "hive", "dbName": table.dbName, "tblName": table.tableName}
    db, name = table.dbName, table.tableName
    for column in columns:
        for engine in ENGINES:
            arguments = {**place, "colNames": [column], "engine": engine}
            if not table.partitionKeys:
                request = wire.request("TableStatsRequest", **arguments)
                yield Call(*_named("get_table_statistics_req", request))
                continue
            for names in (PARTITIONS, PARTITIONS[:1]):
                request = wire.request("PartitionsStatsRequest", partNames=list(names), **arguments)
                yield Call(*_named("get_partitions_statistics_req", request))
                yield Call(*_named("get_aggr_stats_for", request))
        if table.partitionKeys:
            method = "get_partition_column_statistics"
            yield Call(*_named(method, db, name, PARTITIONS[0], column))
        else:
            yield Call(*_named("get_table_column_statistics", db, name, column))


def _named(method: str, *given: Any) -> tuple[str, bytes]:
    return method, wire.arguments(method, *given)


def metastore_answer(address: str, call: Call) -> Any:
    """What the metastore answers; None where it raises or closes the connection."""
    with wire.connect(address) as metastore:
        try:
            theirs = wire.result(call.method, metastore.call(call.method, call.given))
        except AssertionError:
            return None
    return None if isinstance(theirs, tuple) and theirs[0] == "MetaException" else theirs


class World(NamedTuple):
    """A metastore with the tables, and caches of it: of events from the beginning, and loaded."""

    instances: Instances
    client: HmsClient
    tables: Mapping[Any, Any]
    events: caches.Cache
    loaded: caches.Cache
    columns: tuple[str, ...] = tuple(COLUMNS)

    def compare(self) -> dict[str, Counter[str]]:
        """How often each cache answered, and missed what the metastore answers; never wrongly."""
        return asyncio.run(self._compare())

    async def _compare(self) -> dict[str, Counter[str]]:
        primary = Primary(self.instances.database_url)
        counts: dict[str, Counter[str]] = {"events": Counter(), "loaded": Counter()}
        try:
            caches_by_name = {
                name: caches.methods(cache, primary, Consistency.LATEST, "")
                for name, cache in (("events", self.events), ("loaded", self.loaded))
            }
            for table in self.tables.values():
                for call in calls(table, self.columns):
                    await self._compare_call(call, caches_by_name, counts)
        finally:
            await primary.close()
        return counts

    async def _compare_call(
        self,
        call: Call,
        caches_by_name: Mapping[str, CachedMethods],
        counts: Mapping[str, Counter[str]],
    ) -> None:
        theirs = metastore_answer(self.instances.addresses[0], call)
        for name, cache in caches_by_name.items():
            answer = await ask(cache, call)
            if isinstance(answer, CallAnswer):
                ours = wire.result(call.method, whole(answer))
                assert ours == theirs, (name, call)
                counts[name]["same"] += 1
            elif theirs is None:
                counts[name]["untold"] += 1
            else:
                counts[name]["missed"] += 1


@pytest.fixture
def world(metastore: Instances) -> Iterator[World]:
    with (
        metastore.connect() as client,
        caches.following(metastore.database_url) as events,
        caches.following(metastore.database_url) as loaded,
    ):
        db = f"figures_{client.position()}"
        client.create_database(db)
        tables = {}
        for kind in KINDS:
            for keys in (None, {"p": "string"}):
                name = f"{kind}_{'whole' if keys is None else 'parts'}"
                wanted = objects.table(db, name, COLUMNS, keys, transactional=False)
                table = tables[kind, keys is None] = client.create_table(wanted)
                if keys is not None:
                    client.add_partitions(table, [["1"], ["2"]])
                write(client, table, kind, 1)
        events.follow()
        loaded.load()
        yield World(metastore, client, tables, events, loaded)
        client.rpc.drop_database(db, True, True)


def test_every_type_written_as_every_kind(world: World) -> None:
    first = world.compare()
    assert first["events"]["missed"] == first["loaded"]["missed"] == 0
    assert first["events"] == first["loaded"]
    assert min(first["events"]["same"], first["events"]["untold"]) > 500
    write_again(world, 2)
    world.events.follow()
    world.loaded.load()
    again = world.compare()
    assert again["loaded"]["missed"] == 0
    assert again["events"]["missed"] > 0


def write_again(world: World, number: int) -> None:
    """Each table as another kind, and some columns as of another type: what was there before and
    isn't sent stays, and so does the type."""
    for (kind, _), table in world.tables.items():
        other = KINDS[KINDS.index(kind) - 1]
        write(world.client, table, other, number, {**COLUMNS, **SAID_TYPES})


def test_the_type_that_a_client_says_first_is_kept(world: World) -> None:
    """Of one column at a time, so that no other makes all statistics cold."""
    client, db = world.client, world.tables["long", True].dbName
    said = ("bigint", "string", "timestamp", "Decimal(3,1)", "unheard of", "bigint", "bigint")
    tables = {}
    for number, (first, then) in enumerate(pairwise(said)):
        for kind in KINDS:
            name = f"said_{number}_{kind}"
            wanted = objects.table(db, name, {"c0": "bigint"}, transactional=False)
            table = tables[kind, name] = client.create_table(wanted)
            write(client, table, kind, 1, {"c0": first})
            write(client, table, kind, 2, {"c0": then})
    world.events.follow()
    world.loaded.load()
    counts = world._replace(tables=tables, columns=("c0",)).compare()
    assert counts["loaded"]["missed"] == 0
    assert counts["events"]["same"] > 10
    assert counts["events"]["untold"] > 10
