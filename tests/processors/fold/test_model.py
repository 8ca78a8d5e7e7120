"""The fold against a toy metastore, after each record of each generated topic."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from state import digest, keys, kv
from state.records import AnyRecord, Change
from state.records.routing import table_shard
from tests.model import examples, quiet, serving
from tests.model.loads import places
from tests.model.metastore import TABLES
from tests.model.serving import ReadRequest
from tests.model.topic import SHARDS, Topic
from tests.model.truth import Truth, check_all
from tests.model.world import Shard, Step, World

NAMES_IDS = st.booleans()
"""COMMIT_TXN names write ids from 4.1 on."""
SEEDS = st.integers(0, 1_000)


def unchecked(_world: World, _shard: int) -> None:
    """For properties of the end."""


@given(examples.steps(60), NAMES_IDS)
@settings(max_examples=examples.example_count(600), deadline=None)
def test_what_is_served_is_what_the_database_held(steps: list[Step], names_ids: bool) -> None:
    World(Truth(), names_ids=names_ids).run(steps)


@pytest.mark.torture
@pytest.mark.timeout(0)
@pytest.mark.parametrize("_part", range(40))
@given(examples.steps(250), NAMES_IDS)
@settings(max_examples=500, derandomize=False)
def test_what_is_served_is_what_the_database_held_for_long(
    _part: int, steps: list[Step], names_ids: bool
) -> None:
    """In parts: Hypothesis remembers all examples of one, some megabytes each. With CI set, it
    would try the same ones in each."""
    World(Truth(), names_ids=names_ids).run(steps)


@given(examples.steps(60), NAMES_IDS)
@settings(max_examples=examples.example_count(200), deadline=None)
def test_in_peace_everything_becomes_warm_and_is_served(steps: list[Step], names_ids: bool) -> None:
    world = World(Truth(), names_ids=names_ids)
    world.run(steps)
    quiet.settle(world)
    quiet.check_nothing_was_forgotten(world)
    quiet.ask_for_all(world)
    quiet.check_all_is_served(world)


def without_tombstones(world: World, shard: int) -> None:
    """Of tables of which no load is open: lists of partitions are read off their keys then."""
    reader = world.shards[shard].reader
    for name in reader.table_names():
        state = reader.state(name)
        assert state is not None
        for prefix in (keys.of_table(kind, name) for kind in keys.OF_TABLE):
            request = prefix, kv.after(prefix), 1_000
            assert state.loads.open or reader.view.keys(*request) == reader.live_keys(*request)


def test_only_an_open_load_leaves_tombstones() -> None:
    random = Random(1)
    for _ in range(200):
        World(without_tombstones).run(random_steps(random))


def random_steps(random: Random) -> list[Step]:
    names = examples.names(one_table=False)
    numbers = [tuple(random.randrange(8) for _ in range(6)) for _ in range(60)]
    return [*examples.BEGINNING, *(Step(random.choice(names), some) for some in numbers)]


def undamaged(steps: list[Step]) -> list[Step]:
    """Steps for a topic that is read more than once: the damage is done while it is read."""
    return [step for step in steps if step.name != "damage"]


@given(examples.steps(60), SEEDS)
@settings(max_examples=examples.example_count(200), deadline=None)
def test_batches_and_repeated_records_change_nothing(steps: list[Step], seed: int) -> None:
    """The same bytes whatever the batches are, and when events come again or a record twice.

    Only events are published by several connectors. What has no interval is sent once, and that it
    comes twice in a row is all that a resumed driver can do to it.
    """
    random, world = Random(seed), World(unchecked)
    world.run(undamaged(steps))
    for shard, records in enumerate(world.topic.shards):
        if not records:
            continue
        at_once, again = Shard(), Shard()
        at_once.fold(*records)
        for at, record in enumerate(records):
            older = [one for one in records[:at] if isinstance(one, Change)]
            again.fold(record, record, *random.sample(older, min(2, len(older))))
        digests = {
            digest.exact(one.store.snapshot()) for one in (world.shards[shard], at_once, again)
        }
        assert len(digests) == 1


@given(examples.steps(60), SEEDS)
@settings(max_examples=examples.example_count(200), deadline=None)
def test_a_load_at_any_position_leads_to_the_same_content(steps: list[Step], seed: int) -> None:
    random, world = Random(seed), World(unchecked)
    world.run(undamaged(steps))
    quiet.settle(world)
    for shard, records in enumerate(world.topic.shards):
        shard_model = world.shards[shard]
        other = Shard()
        other.fold(*_with_a_load(world, shard, records, random))
        for name in _warm(shard_model) & _warm(other):
            digests = {digest.content(one.store.snapshot())[name] for one in (shard_model, other)}
            assert len(digests) == 1, name


def _warm(shard: Shard) -> set[str]:
    """Of what all is known, statistics included."""
    reader = shard.reader
    cold = {
        f"table {name}"
        for name in reader.table_names()
        if serving.statistics(reader, name, serving.ANY) is not None
    }
    return {name for name, value in digest.content(reader.view).items() if value} - cold


def _with_a_load(
    world: World, shard: int, records: list[AnyRecord], random: Random
) -> list[AnyRecord]:
    """The records of the newest epoch, and among them those of one more load."""
    records = [one for one in records if one.epoch == world.topic.epoch]
    first = random.randint(0, len(records))
    after = [one.upto for one in records[:first] if isinstance(one, Change)]
    moments = [m for m in world.store.history.moments if m.event >= max(after, default=0)]
    scope = random.choice([scope for place, scope in places() if place == shard])
    sent: list[AnyRecord] = []
    topic = Topic(lambda _shard, record: sent.append(record))
    load = world.new_load(shard, scope)
    load.begin(topic)
    load.read(random.choice(moments), load.portions)
    for number in random.sample(range(load.portions), load.portions):
        load.send(topic, number)
    load.end(topic)
    places_of = sorted(random.randint(first, len(records)) for _ in sent[1:])
    for at, record in reversed(list(zip([first, *places_of], sent, strict=True))):
        records.insert(at, record)
    return records


class ReplicaReader:
    """A client that reads from two replicas, one behind the other, and writes now and then."""

    def __init__(self, lag: int) -> None:
        self._lag = lag
        self._folded = [0] * SHARDS
        self._behind = [Shard() for _ in range(SHARDS)]
        self._token = serving.HistoryPosition(0, 0)
        self.served = 0

    def __call__(self, world: World, shard: int) -> None:
        records = world.topic.shards[shard]
        while self._folded[shard] < len(records) - self._lag:
            self._behind[shard].fold(records[self._folded[shard]])
            self._folded[shard] += 1
        for replica in (self._behind[shard], world.shards[shard]):
            self._read(world, shard, replica)
        if len(records) % 8 == 0 and world.topic.histories[-1] == world.store.epoch:
            self._token = serving.HistoryPosition(world.topic.epoch, world.store.now.event)

    def _read(self, world: World, shard: int, replica: Shard) -> None:
        reader = replica.reader
        position = serving.position(reader)
        for name in TABLES:
            if table_shard(name, SHARDS) != shard:
                continue
            if serving.table(reader, name, ReadRequest(at_least=self._token)) is None:
                assert position >= self._token, "it goes back, or lacks the client's own write"
                truth = world.history(position.epoch).first[position.event].content
                check_all(reader, name, truth.tables.get(name))
                self._token = position
                self.served += 1


@given(examples.steps(60), st.integers(0, 5))
@settings(max_examples=examples.example_count(200), deadline=None)
def test_sessions_read_their_writes_and_never_go_back(steps: list[Step], lag: int) -> None:
    World(ReplicaReader(lag)).run(steps)


def test_the_cache_answers_often_enough_to_be_tested() -> None:
    """A fold that is always cold is never wrong, either."""
    served: Counter[str] = Counter()
    random = Random(1)
    for _ in range(220):
        truth, session = Truth(), ReplicaReader(2)
        steps = random_steps(random)
        World(truth).run(steps)
        World(session).run(steps)
        served += truth.served
        served["sessions"] += session.served
    kinds = ["table", "partition", "lists", "statistics", "names", "databases"]
    for kind in (*kinds, "write ids", "newer write ids", "sessions"):
        assert served[kind] >= 50, served
