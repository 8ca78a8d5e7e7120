"""What the demo wrote to a database, and the shards that its log folds to."""

from typing import NamedTuple

import sqlalchemy as sa

from connectors.publish.routing import route
from connectors.publish.translate import translate
from hive.events.decode import decode
from hive.events.row import row_mark
from hive.schema import Version, metadata
from metatide.demo.store import Store
from query_api.resolver.shard_facts import read_facts
from query_api.targets import Target, TargetKind
from state.records import Change
from tests.metatide.demo import workload_runs
from tests.query_api.shards import MemoryShard, MemoryShards


class World(NamedTuple):
    """A database with the objects of a run, and a cache that has folded every event of it."""

    url: str
    store: Store
    shards: MemoryShards
    current: int


def world(url: str, *, events: int, shards: int, seed: int = 7) -> World:
    """A run of the demo from the beginning of its log."""
    store = Store(url)
    workload_runs.write(store, events, seed=seed)
    return folded(url, store, shards)


def folded(url: str, store: Store, shards: int) -> World:
    """What is in a database that a log tells from the beginning."""
    source = MemoryShards(*(MemoryShard() for _ in range(shards)))
    rows = workload_runs.notification_rows(store)
    for row in rows:
        routed = route(translate(decode(row)), shards)
        for number, shard in enumerate(source.shards):
            assert shard is not None
            actions = routed.get(number, ())
            event, mark = row.event_id, row_mark(row)
            shard.fold([Change(0, event - 1, event, actions, mark=mark)])
    return World(url, store, source, rows[-1].event_id)


def append(world_: World, kind: str, db: str | None, table: str | None) -> int:
    """Writes one more event, as the metastore does, and gives its id."""
    tables = metadata(Version.V4_1).tables
    sequence, log = tables["NOTIFICATION_SEQUENCE"], tables["NOTIFICATION_LOG"]
    with world_.store.engine.begin() as connection:
        event = connection.scalar(sa.select(sequence.c.NEXT_EVENT_ID).with_for_update())
        assert event is not None
        connection.execute(sa.update(sequence).values(NEXT_EVENT_ID=event + 1))
        row = {
            "NL_ID": 1_000_000 + event,
            "EVENT_ID": event,
            "EVENT_TIME": 1,
            "EVENT_TYPE": kind,
            "DB_NAME": db,
            "TBL_NAME": table,
            "MESSAGE": "{}",
        }
        connection.execute(sa.insert(log).values(row))
    return int(event)


def warm_tables(shards: MemoryShards) -> list[tuple[str, str]]:
    """Databases and names of tables that are warm."""
    answers = []
    for shard in shards.shards:
        assert shard is not None
        reader = shard.reader()
        for name in reader.table_names():
            if (
                read_facts(reader, Target(TargetKind.PARTITIONS, name), with_ids=False).refused
                is None
            ):
                answers.append((name.db, name.table))
    return answers
