"""What was answered stays right as long as nothing changed that it was made of."""

from collections import Counter
from random import Random
from typing import Any

from connectors.publish.routing import route
from connectors.publish.translate import translate
from hive.errors import NoSuchObjectError
from hive.events.decode import decode
from hive.names import DatabaseName, TableName
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.positions import Position
from query_api.reads import (
    CountPartitions,
    GetConstraints,
    GetDatabase,
    GetTable,
    GetTableStatistics,
    ListDatabases,
    ListPartitionNames,
    ListTables,
    Read,
    Slice,
)
from query_api.requirement import Requirement
from query_api.resolver.answer import ReadAnswer
from query_api.shards import Moment, Views
from query_api.targets import Target, TargetKind
from state.records import Change, Pause, Reset
from state.records.actions import DropDatabase
from tests.metatide.demo import workload_runs
from tests.query_api.folded_world import World
from tests.query_api.http.read_client import Nowhere
from tests.query_api.shards import (
    ORDERS,
    SALES,
    MemoryShard,
    MemoryShards,
    change,
    database_image,
    load_databases,
    load_names,
    load_table,
    moment,
    name_image,
)

ANYTHING = Requirement(Consistency.ANY, must_be_current=False)
KEPT_MAX = 40


async def test_as_long_as_a_moment_is_renewed_the_answer_is_what_would_be_answered_now(
    small_world: World,
) -> None:
    rows = workload_runs.notification_rows(small_world.store)
    reads, random = reads_of(small_world), Random(1)
    source = MemoryShards(*(MemoryShard(*load_databases(0)) for _ in range(2)))
    backend = Backend(source, Nowhere())
    views, resolver = backend.views, backend.resolver
    answers: dict[Read[Any], tuple[Moment, Any]] = {}
    counts: Counter[str] = Counter()
    for row in rows:
        routed = route(translate(decode(row)), source.count)
        for number, shard in enumerate(source.shards):
            assert shard is not None
            shard.fold([Change(0, row.event_id - 1, row.event_id, routed.get(number, ()))])
        for read, (before, value) in list(answers.items()):
            renewed = views.renewed(before)
            if renewed is None:
                counts["changed"] += 1
                del answers[read]
                continue
            answer = await resolver.cached(read, ANYTHING)
            assert isinstance(answer, ReadAnswer), (read, answer)
            assert plain(answer.value) == value, read
            assert renewed.reached == answer.position == Position(0, row.event_id)
            answers[read] = renewed, value
            counts["same"] += 1
            counts["absent"] += isinstance(answer.value, NoSuchObjectError)
        for read in random.sample(reads, 4):
            answer = await resolver.cached(read, ANYTHING)
            if isinstance(answer, ReadAnswer) and answer.moment and len(answers) < KEPT_MAX:
                answers[read] = answer.moment, plain(answer.value)
    resolver.close()
    assert counts["same"] > 10 * counts["changed"]
    assert counts["changed"] > 100
    assert counts["absent"] > 100


def reads_of(world: World) -> list[Read[Any]]:
    """Of all that there is in the end, what isn't there at first included."""
    reads: list[Read[Any]] = [ListDatabases("hive")]
    reads += (GetDatabase(DatabaseName("hive", f"none_{number}")) for number in range(4))
    shards = [one for one in world.shards.shards if one is not None]
    for db in {db for shard in shards for db in shard.reader().database_names()}:
        reads += (GetDatabase(db), ListTables(db), GetTable(TableName(db.catalog, db.db, "none")))
    for table in {table for shard in shards for table in shard.reader().table_names()}:
        reads += (GetTable(table), ListPartitionNames(table), CountPartitions(table))
        reads += (GetTableStatistics(table), GetConstraints(table))
    return sorted(reads, key=repr)


def plain(value: Any) -> Any:
    if isinstance(value, NoSuchObjectError):
        return str(value)
    return (list(value.items), value.next) if isinstance(value, Slice) else value


def test_a_moment_ends_with_its_store_and_with_what_moves_the_head() -> None:
    shard = MemoryShard(change(1), *load_table(1))
    source = MemoryShards(shard)
    views = Views(source)
    before = moment(views)
    assert views.renewed(before) is before
    shard.fold([change(2)])
    after = views.renewed(before)
    assert after is not None
    assert (after.reached, after.commit) == (Position(0, 2), before.commit + 1)
    shard.fold([Pause(0, 1, paused=True)])
    assert views.renewed(after) is None
    again = moment(views)
    source.shards[0] = None
    assert views.renewed(again) is None
    source.shards[0] = MemoryShard(change(1), *load_table(1))
    assert views.renewed(again) is None


def test_the_highest_position_is_of_the_epoch_that_the_topic_has_reached() -> None:
    source = MemoryShards(None, None)
    views = Views(source)
    assert views.reached == Position(0, 0)
    source.epoch = None
    assert not views.knows_epoch
    source.shards = [MemoryShard(change(5)), MemoryShard(Reset(1, 3))]
    assert views.reached == Position(1, 3)
    source.epoch = 2
    assert (views.knows_epoch, views.reached) == (True, Position(2, 0))


async def test_that_there_is_no_table_depends_on_the_list_of_names() -> None:
    records = *load_names(1, name_image("orders")), *load_databases(1, database_image())
    shard = MemoryShard(change(1), *records)
    backend = Backend(MemoryShards(shard), Nowhere())
    views, resolver = backend.views, backend.resolver
    answer = await resolver.cached(GetTable(ORDERS._replace(table="none")), ANYTHING)
    resolver.close()
    assert isinstance(answer, ReadAnswer)
    assert isinstance(answer.value, NoSuchObjectError)
    assert answer.moment is not None
    assert views.renewed(answer.moment) is not None
    shard.fold([change(2)])
    moved = views.renewed(answer.moment)
    assert moved is not None
    shard.fold([change(3, DropDatabase(SALES))])
    assert views.renewed(moved) is None


def test_a_reader_of_before_has_no_moment() -> None:
    shard = MemoryShard(change(1), *load_table(1))
    views = Views(MemoryShards(shard))
    reader, target = views.reader(0), Target(TargetKind.TABLE, ORDERS)
    assert reader is not None
    assert views.moment(0, reader, (target,)) is not None
    shard.fold([change(2)])
    assert views.moment(0, reader, (target,)) is None
