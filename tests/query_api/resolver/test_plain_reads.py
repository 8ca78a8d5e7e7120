"""Reads that take any state get the same from shared grounds as from their own."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings

from hive.names import TableName
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.objects import Objects, Values
from query_api.reads.read import ExistingTableRead, Group, existing_table
from query_api.reasons import Reason
from query_api.requirement import Requirement
from query_api.resolver import plain_reads
from query_api.resolver.answer import Miss, ReadAnswer
from query_api.shards import Views
from query_api.targets import Target, TargetKind
from state.records import Rows, Scope, ScopeKind
from state.records.routing import table_shard
from tests.model import examples, quiet
from tests.model.metastore import TABLES
from tests.model.topic import SHARDS
from tests.model.world import Step, World
from tests.query_api.http.read_client import Nowhere
from tests.query_api.shards import (
    ORDERS,
    MemoryShard,
    MemoryShards,
    change,
    load,
    load_table,
    table_image,
)

ANY = Requirement(Consistency.ANY, must_be_current=False)
Outcome = tuple[object, ...]


pytestmark = pytest.mark.usefixtures("objects_of_the_model")


class Row(ExistingTableRead[object], frozen=True):
    """The table alone."""

    @property
    def targets(self) -> tuple[Target, ...]:
        return (Target(TargetKind.TABLE, self.table),)

    @property
    def group(self) -> Group:
        return Group(TargetKind.TABLE, self.table)

    def answer(self, objects: Objects) -> object:
        return existing_table(objects, self.table)


class Partition(ExistingTableRead[object], frozen=True):
    """The table and one of its partitions."""

    values: Values

    @property
    def targets(self) -> tuple[Target, ...]:
        table = Target(TargetKind.TABLE, self.table)
        return table, Target(TargetKind.PARTITION, self.table, self.values)

    @property
    def group(self) -> Group:
        return Group(TargetKind.PARTITION, self.table)

    def answer(self, objects: Objects) -> tuple[bytes, bytes | None]:
        return existing_table(objects, self.table), objects.partition(self.table, self.values)


class Presence(Row, frozen=True):
    """Whether there is a table; it doesn't ask whether its database is in another system."""

    def further(self, _: Objects) -> tuple[Target, ...]:
        return ()

    def answer(self, objects: Objects) -> bool:
        return objects.table(self.table) is not None


class Comparison:
    """Asks a backend that lives as long as the world, and a new one for each read."""

    def __init__(self) -> None:
        self.outcomes: Counter[str] = Counter()
        self.shared = 0
        self.backend: Backend | None = None

    def __call__(self, world: World, shard: int) -> None:
        source = MemoryShards(*(MemoryShard(store=each.store) for each in world.shards))
        if self.backend is None:
            self.backend = Backend(source, Nowhere())
        for table in TABLES:
            if table_shard(table, SHARDS) == shard:
                self._compare(self.backend, source, table)

    def _compare(self, backend: Backend, source: MemoryShards, table: TableName) -> None:
        reader = Views(source).own_reader(table_shard(table, SHARDS))
        assert reader is not None
        values = [values for values, _ in reader.partitions(table)]
        reads: list[ExistingTableRead[object]] = [Row(table), Partition(table, ("none",))]
        reads += [Partition(table, each) for each in values]
        for read in reads:
            alone = Backend(source, Nowhere())
            expected = judged(alone.resolver.cached_now(read, ANY))
            alone.resolver.close()
            for _ in range(2):
                self.shared += backend.resolver._plain.answer(read) is not None
                assert judged(backend.resolver.cached_now(read, ANY)) == expected, read
            self.outcomes[type(expected[0]).__name__] += 1


def judged(outcome: ReadAnswer[object] | Miss | None) -> Outcome:
    match outcome:
        case ReadAnswer():
            value = str(outcome.value) if isinstance(outcome.value, Exception) else outcome.value
            return value, outcome.source, outcome.reason, outcome.position
        case Miss():
            return outcome.reason, outcome.detail
    return (None,)


@settings(max_examples=25, deadline=None)
@given(examples.steps(40))
def test_shared_grounds_give_what_own_ones_do(steps: list[Step]) -> None:
    World(Comparison()).run(steps)


def test_both_ways_come_up() -> None:
    comparison, random = Comparison(), Random(3)
    for _ in range(10):
        world = World(comparison)
        comparison.backend = None
        world.run(examples.calm_steps(random, 60))
        quiet.settle(world)
    assert comparison.shared > 50
    assert len(comparison.outcomes) > 1


def test_a_rewound_history_is_not_served() -> None:
    source = MemoryShards(
        MemoryShard(*load_table(5, table=table_image(managed=False)), change(5, after=0))
    )
    database = Nowhere()
    backend = Backend(source, database)
    for _ in range(2):
        assert isinstance(backend.resolver.cached_now(Row(ORDERS), ANY), ReadAnswer)
    database.history.check_position(0, 5, 3)
    outcome = backend.resolver.cached_now(Row(ORDERS), ANY)
    assert isinstance(outcome, Miss)
    assert outcome.reason is Reason.REWOUND
    backend.resolver.close()


def test_a_missing_table_gives_other_reads_no_grounds() -> None:
    loaded = load(Scope(ScopeKind.TABLE, ORDERS), 2, Rows())
    backend = Backend(MemoryShards(MemoryShard(change(2, after=0), *loaded)), Nowhere())
    presence = backend.resolver.cached_now(Presence(ORDERS), ANY)
    assert isinstance(presence, ReadAnswer)
    assert presence.value is False
    outcome = backend.resolver.cached_now(Row(ORDERS), ANY)
    assert isinstance(outcome, Miss)
    assert outcome.judgement is not None
    assert outcome.judgement.target.kind is TargetKind.DATABASE
    backend.resolver.close()


def test_few_grounds_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plain_reads, "GROUPS_MAX", 1)
    source = MemoryShards(
        MemoryShard(*load_table(5, table=table_image(managed=False)), change(5, after=0))
    )
    backend = Backend(source, Nowhere())
    reads: list[ExistingTableRead[object]] = [Row(ORDERS), Partition(ORDERS, ("none",))]
    for _ in range(2):
        for read in reads:
            assert isinstance(backend.resolver.cached_now(read, ANY), ReadAnswer)
    is_remembered = [backend.resolver._plain.answer(read) is not None for read in reads]
    assert is_remembered == [False, True]
    backend.resolver.close()
