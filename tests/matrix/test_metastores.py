"""On every row of the matrix, what Metatide tells is what the metastores tell, field by field."""

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from hive.reader.engines import unpooled_engine
from hive.reader.snapshot import open_snapshot
from hive.schema import detect
from query_api.consistency import Consistency
from query_api.database import Primary
from tests.hive.reader import script
from tests.hive.reader.answers import expected, read_state
from tests.query_api.thrift.methods import caches, contents, wire
from tests.query_api.thrift.methods.comparison import Comparison
from tests.query_api.thrift.methods.corpus import corpus, sample
from tests.query_api.thrift.methods.dropped_methods import DROPPED
from tests.support.hive import hms_state, matrix
from tests.support.hive.metastore import Instances

_DATABASES = ("reader", "reader_2", "shown")
_OF_EACH = 4
_SETTINGS = {
    "metastore.expression.proxy": "org.apache.hadoop.hive.metastore.MsckPartitionExpressionProxy",
    # One of its chores forgets aborted transactions, at any moment.
    "metastore.housekeeping.threads.on": "false",
}


@pytest.fixture(scope="module", params=matrix.parameters(matrix.FOLLOWED))
def instances(request: pytest.FixtureRequest) -> Iterator[Instances]:
    """Two metastores on one database, each of which wrote to it."""
    with matrix.running(request, request.param, properties=_SETTINGS) as instances:
        with instances.connect(0) as client:
            script.run(client, "reader")
        with instances.connect(1) as client:
            contents.fill(client, "shown")
        yield instances


@pytest.mark.by_turns(4, of="rows")
def test_the_database_is_read_as_the_metastore_reads_it(instances: Instances) -> None:
    engine = unpooled_engine(instances.database_url)
    with engine.connect() as connection:
        version = detect(connection)
    assert version is not None
    with open_snapshot(engine, version) as snapshot:
        state = read_state(snapshot)
    engine.dispose()
    with instances.connect() as client:
        answered = expected(hms_state.state(client))
    assert state.keys() == answered.keys()
    for kind, objects in answered.items():
        assert ordered(state[kind]) == ordered(objects), kind


def ordered(value: Any) -> Any:
    """With lists in one order: that of columns' statistics and constraints is anybody's."""
    if isinstance(value, dict):
        return {key: ordered(item) for key, item in value.items()}
    if isinstance(value, list):
        return sorted(map(ordered, value), key=partial(json.dumps, sort_keys=True))
    return value


async def compare(instances: Instances, warm: caches.Cache, folded: caches.Cache) -> Comparison:
    primary = Primary(instances.database_url)
    with instances.connect() as client:
        warehouse = client.rpc.get_config_value("metastore.warehouse.dir", "")
        calls = sample(corpus(client, _DATABASES), _OF_EACH)
    caches_by_name = {
        name: caches.methods(cache, primary, consistency, warehouse)
        for name, cache, consistency in (
            ("warm", warm, Consistency.ANY),
            ("latest", warm, Consistency.LATEST),
            ("folded", folded, Consistency.ANY),
        )
    }
    comparison = Comparison(caches_by_name)
    with wire.connect(instances.addresses[1]) as metastore:
        await comparison.run(metastore, calls)
    await primary.close()
    everything = caches_by_name["warm"].names - DROPPED
    assert everything == comparison.same["warm"].keys()
    assert everything == comparison.same["latest"].keys()
    return comparison


@pytest.mark.by_turns(4, of="rows")
def test_events_and_loads_amount_to_what_the_metastore_answers(instances: Instances) -> None:
    url = instances.database_url
    with caches.following(url) as warm, caches.following(url) as folded:
        warm.load()
        folded.follow()
        comparison = asyncio.run(compare(instances, warm, folded))
    assert sum(comparison.same["warm"].values()) > 100
    assert sum(comparison.same["folded"].values()) > 60
