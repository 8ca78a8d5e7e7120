"""What the demo wrote to a database, and the shards that its log folds to."""

from typing import NamedTuple

from connectors.publish.routing import route
from connectors.publish.translate import translate
from hive.events.decode import decode
from hive.events.row import row_mark
from metatide.demo.store import Store
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
