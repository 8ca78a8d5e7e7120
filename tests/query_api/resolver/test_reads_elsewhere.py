"""What is all in another worker's shard isn't judged here, and misses as if it were."""

from itertools import product

import pytest

from hive.names import TableName, table_name
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.objects import Objects
from query_api.positions import Position
from query_api.reads.read import Read
from query_api.reasons import Reason
from query_api.requirement import Requirement
from query_api.resolver.answer import Miss, settle
from query_api.targets import Target, TargetKind
from state.records.routing import table_shard
from tests.query_api.http.read_client import Nowhere
from tests.query_api.shards import MemoryShard, MemoryShards, change

SHARDS = 3
TABLES = [table_name(None, "sales", f"t{number}") for number in range(6)]
LATEST = Requirement()
ANY = Requirement(Consistency.ANY, must_be_current=False)
REQUIREMENTS = {
    "latest": LATEST,
    "within": Requirement(Consistency.WITHIN, max_age_ms=100),
    "any": ANY,
    "a position": Requirement(Consistency.ANY, must_be_current=False, min_position=Position(0, 9)),
    "write ids": Requirement(Consistency.WRITE_IDS, must_be_current=False),
}


class Tables(Read[int], frozen=True):
    """Several tables at once."""

    names: tuple[TableName, ...]

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(Target(TargetKind.TABLE, name) for name in self.names)

    def answer(self, objects: Objects) -> int:
        return sum(objects.table(name) is not None for name in self.names)


def backend_without(missing: set[int]) -> Backend:
    shards = MemoryShards(*(MemoryShard(change(5, after=0)) for _ in range(SHARDS)))
    for number in missing:
        shards.shards[number] = None
    return Backend(shards, Nowhere())


@pytest.mark.parametrize("requirement", REQUIREMENTS.values(), ids=REQUIREMENTS)
@pytest.mark.parametrize("missing", [{0}, {1, 2}, {0, 1, 2}])
def test_the_miss_is_the_one_that_judging_finds(
    missing: set[int], requirement: Requirement
) -> None:
    backend = backend_without(missing)
    resolver, views = backend.resolver, backend.views
    reads = [Tables(names) for names in product(TABLES, TABLES)]
    elsewhere = 0
    for read in reads:
        shards = {table_shard(name, SHARDS) for name in read.names}
        outcome = resolver._elsewhere(read)
        assert (outcome is not None) is (len(shards) == 1 and shards <= missing)
        if outcome is not None:
            elsewhere += 1
            judged = resolver._judge_now(read, requirement, None)
            assert outcome == settle(views, read, requirement, judged)
            assert resolver.cached_now(read, requirement) == outcome
    assert elsewhere
    backend.resolver.close()


def test_where_the_database_must_be_asked_nobody_waits_for_what_isnt_here() -> None:
    backend = backend_without({0, 1, 2})
    outcome = backend.resolver.cached_now(Tables((TABLES[0],)), LATEST)
    assert isinstance(outcome, Miss)
    assert (outcome.reason, outcome.shard) == (Reason.NOT_OWNED, table_shard(TABLES[0], SHARDS))
    backend.resolver.close()


def test_a_read_of_nothing_is_nowhere_else() -> None:
    backend = backend_without({0, 1, 2})
    assert backend.resolver._elsewhere(Tables(())) is None
    backend.resolver.close()
