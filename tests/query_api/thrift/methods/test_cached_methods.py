"""What becomes of calls that the cache understands, told apart by what it knows."""

import asyncio

import pytest

from hive.thrift.binary import decode
from hive.thrift.structs import PARTITION
from hive.thrift.types import ListOf, Struct
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.latest.log_end import LogEnd
from query_api.latest.row_effects import RowEffects
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.requirement_defaults import Defaults
from query_api.thrift.call import Call, CallAnswer, Client, Relay, RelayReason
from query_api.thrift.methods import CachedMethods
from query_api.thrift.methods.table_metas import TABLE_META
from state.records.actions import CreateTable, DropTable, PutPartitions
from state.records.objects import NameImage, TableImage
from tests.query_api.shards import (
    ORDERS,
    ORDERS_ID,
    MemoryShard,
    MemoryShards,
    change,
    database_image,
    load_databases,
    load_names,
    load_table,
    partition_image,
    table_image,
)
from tests.query_api.thrift.methods.cached_calls import (
    EVENT,
    PARTITIONS,
    TABLE_RESULT,
    Current,
    cached,
    call,
    get_table,
    now,
    reason,
    shards,
)
from tests.query_api.thrift.methods.comparison import whole

METAS_RESULT = Struct("result", (0, "success", ListOf(TABLE_META)))
PARTITIONS_RESULT = Struct("result", (0, "success", ListOf(PARTITION)))


def test_a_table_is_answered_with_its_grounds(source: MemoryShards) -> None:
    for consistency in (Consistency.ANY, Consistency.LATEST):
        outcome = now(cached(source, consistency), get_table())
        assert isinstance(outcome, CallAnswer)
        table = decode(TABLE_RESULT, whole(outcome))["success"]["table"]
        assert (table["dbName"], table["tableName"], table["id"]) == ("sales", "orders", ORDERS_ID)
        assert outcome.position == Position(0, EVENT)
        assert outcome.moment is not None
        assert bool(outcome.to_confirm) == (consistency is Consistency.LATEST)


class Touched(Current):
    """A database whose newest event has touched everything."""

    async def after_now(self, reached: Position) -> LogEnd:
        return LogEnd(reached.epoch, EVENT + 1, [(EVENT + 1, RowEffects(everything=True))])


@pytest.mark.parametrize(
    "reading",
    [
        get_table(),
        call("get_table_objects_by_name", db_name="sales", tbl_names=["orders"]),
        call("get_all_tables", db_name="sales"),
        call("get_table_meta", db_patterns="*", tbl_patterns="*"),
    ],
    ids=lambda reading: reading.method,
)
def test_the_consistency_of_a_table_holds_for_reads_of_several(
    source: MemoryShards, reading: Call
) -> None:
    """The database says of each that something touched it since."""

    of_sales = Defaults(Consistency.ANY, (("sales.*", Consistency.LATEST),))
    strict = CachedMethods(Backend(shards(), Touched()), of_sales)
    assert reason(now(strict, reading)) is Reason.BEHIND
    lax = CachedMethods(Backend(source, Touched()), Defaults(Consistency.ANY))
    assert isinstance(now(lax, reading), CallAnswer)


@pytest.mark.parametrize("default", [Consistency.ANY, Consistency.WITHIN, Consistency.LATEST])
@pytest.mark.parametrize("age_ms_max", [None, 0, 50])
def test_what_another_worker_requires_holds_beside_the_default(
    default: Consistency, age_ms_max: int | None
) -> None:
    cache = CachedMethods(Backend(shards(), Touched()), Defaults(default))
    forwarded = get_table()
    forwarded.age_ms_max = age_ms_max
    outcome = now(cache, forwarded)
    if default is Consistency.ANY and age_ms_max is None:
        assert isinstance(outcome, CallAnswer)
    else:
        assert reason(outcome) is Reason.BEHIND


@pytest.mark.parametrize("consistency", [Consistency.ANY, Consistency.LATEST])
def test_that_there_is_no_table_is_answered_where_it_is_known(
    source: MemoryShards, consistency: Consistency
) -> None:
    cache = cached(source, consistency)
    outcome = now(cache, get_table(tblName="other"))
    assert isinstance(outcome, CallAnswer)
    assert decode(TABLE_RESULT, whole(outcome)) == {
        "o2": {"message": "hive.sales.other table not found"}
    }
    assert reason(now(cache, get_table(dbName="unknown"))) is Reason.COLD


def test_long_lists_are_written_while_they_are_read(source: MemoryShards) -> None:
    most = {"db_name": "sales", "tbl_name": "orders", "max_parts": -1}
    streamed = now(cached(source), call("get_partitions", **most))
    assert isinstance(streamed, CallAnswer)
    assert not isinstance(streamed.result, bytes)
    assert streamed.moment is None
    blocks = list(streamed.result)  # type: ignore[arg-type]
    assert len(blocks) > 1
    partitions = decode(PARTITIONS_RESULT, b"".join(blocks))["success"]
    assert [one["values"] for one in partitions] == [[f"{day:05d}"] for day in range(PARTITIONS)]
    few = now(cached(source), call("get_partitions", **{**most, "max_parts": 7}))
    assert isinstance(few, CallAnswer)
    assert decode(PARTITIONS_RESULT, whole(few))["success"] == partitions[:7]


def test_an_empty_list_of_write_ids_is_a_list() -> None:
    records = load_table(EVENT, table=table_image(keys=()))
    source = MemoryShards(MemoryShard(change(EVENT, after=0), *records))
    for text, is_compliant in (("", True), (None, None)):
        outcome = now(cached(source), get_table(validWriteIdList=text, id=ORDERS_ID))
        assert isinstance(outcome, CallAnswer)
        table = decode(TABLE_RESULT, whole(outcome))["success"]["table"]
        assert table.get("isStatsCompliant") is is_compliant


def test_misses_say_why(source: MemoryShards) -> None:
    with_list = get_table(validWriteIdList="sales.orders:3:9::", id=ORDERS_ID + 1)
    assert reason(now(cached(source), with_list)) is Reason.TABLE_ID
    later = get_table()
    later.min_position = Position(0, EVENT + 1)
    assert reason(now(cached(source), later)) is Reason.BEHIND
    elsewhere = now(cached(MemoryShards(None)), get_table())
    assert isinstance(elsewhere, Relay)
    assert (elsewhere.reason, elsewhere.shard) == (Reason.NOT_OWNED, 0)


def test_all_is_left_to_metastores_where_names_mean_something_else(source: MemoryShards) -> None:
    cache = cached(source)
    assert isinstance(now(cache, get_table()), CallAnswer)
    cache.leave_all()
    assert reason(now(cache, get_table())) is RelayReason.CATALOG
    # This one has waited meanwhile.
    assert reason(asyncio.run(cache.answer(get_table()))) is RelayReason.CATALOG


def test_what_event_is_current_is_left_to_metastores_while_the_database_is_away(
    source: MemoryShards,
) -> None:
    class Away(Current):
        async def after_now(self, reached: Position) -> None:
            return None

    question = Call("get_current_notificationEventId", b"\0", Client())
    assert isinstance(now(cached(source), question), CallAnswer)
    assert reason(now(cached(source, database=Away()), question)) is Reason.UNREAD


@pytest.mark.parametrize("db", ["sales", "@hive#sales", "@Hive#sales", "@hive"])
def test_a_call_of_a_dropped_method_is_translated_if_it_is_understood(
    source: MemoryShards, db: str
) -> None:
    old = call("get_table", db_name=db, tbl_name="orders")
    other = asyncio.run(cached(source).instead(old))
    assert (None if other is None else other.method) == (None if db == "@hive" else "get_table_req")


def test_a_name_is_not_read_by_the_keys_of_a_table_that_was_replaced_meanwhile() -> None:
    def keyed_by(*keys: str) -> TableImage:
        return table_image(managed=False, keys=keys)

    partition = partition_image("1", "2")
    shard = MemoryShard(
        change(EVENT, after=0), *load_table(EVENT, partition, table=keyed_by("a", "b"))
    )
    replacement = (
        change(EVENT + 1, DropTable(ORDERS)),
        change(EVENT + 2, CreateTable(keyed_by("b", "a"))),
        change(EVENT + 3, PutPartitions(ORDERS, 0, (partition,), added=True)),
    )

    class Replacing(Current):
        """Between the read of the table and that of the partition."""

        reads = 0

        async def after_now(self, reached: Position) -> LogEnd:
            self.reads += 1
            if self.reads == 2:
                shard.fold(replacement)
            return LogEnd(reached.epoch, shard.position.applied, [])

    place = {"db_name": "sales", "tbl_name": "orders"}
    named = call("get_partition_by_name", **place, part_name="a=1/b=2")
    cache = cached(MemoryShards(shard), Consistency.LATEST, database=Replacing())
    assert reason(now(cache, named)) is RelayReason.FORM


def test_what_is_cold_is_asked_for() -> None:
    source = MemoryShards(MemoryShard(change(EVENT, after=0)))
    assert reason(now(cached(source), get_table())) is Reason.COLD
    assert [scope.name.table for _, scope, _ in source.wanted] == ["orders"]


def test_lines_of_tables_tell_no_owner_from_an_empty_one() -> None:
    tables = {"of_ann": ("ann", 1), "of_nobody": (None, 1), "of_role": ("", 2)}
    lines = [NameImage(name, "T", owner, None, type_) for name, (owner, type_) in tables.items()]
    source = MemoryShards(
        MemoryShard(
            change(EVENT, after=0),
            *load_databases(EVENT, database_image()),
            *load_names(EVENT, *lines),
        )
    )
    outcome = now(cached(source), call("get_table_meta", db_patterns="*", tbl_patterns="*"))
    assert isinstance(outcome, CallAnswer)
    metas = decode(METAS_RESULT, whole(outcome))["success"]
    assert [(meta.get("ownerName"), meta["ownerType"]) for meta in metas] == [*tables.values()]
