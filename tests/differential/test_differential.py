"""Random writers on real metastores: the endpoint must answer as they do, at every moment.

A run can be repeated: DIFFERENTIAL_SEED=SEED:NUMBER begins with run NUMBER of that seed.
"""

import os
from random import Random

import pytest

from query_api.thrift.methods.method_table import methods
from tests.differential.final_checks import assert_builds_agree, audit
from tests.differential.names import Names
from tests.differential.questions import Questions
from tests.differential.report import Report
from tests.differential.series import series
from tests.differential.shrinking import Story
from tests.differential.world import PROPERTIES, World, standing
from tests.support.hive import matrix
from tests.support.hive.matrix import Row
from tests.support.hive.releases import NEWEST

SEED = "DIFFERENTIAL_SEED"
STORIES_MAX = 3
DATABASE_ONLY = {"get_current_notificationEventId"}
FRESH_SHARE = 0.3


def check(world: World, *, seconds: float, seed: int, with_spark: bool) -> None:
    """Runs on this world for so long; no answer may differ, and the cache must give many."""
    seed_given, _, first = os.environ.get(SEED, str(seed)).partition(":")
    stories: list[Story] = []

    def tell(story: Story) -> bool:
        stories.append(story)
        print(str(story))
        return len(stories) >= STORIES_MAX

    print(f"seed {seed_given}")
    with standing(world) as up:
        counts = series(up, int(seed_given), seconds, tell, int(first or 0))
        report = Report(counts, up.metrics())
        print("\n".join(report.lines()))
        assert not stories, "\n\n".join(map(str, stories))
        audited = audit(up)
        wrong = [each for each in audited["disagreements"] if not each["silent"]]
        assert not wrong, wrong[:3]
        assert audited["totals"]["objects"]["seen"] > 0
        assert report.fresh_share() >= FRESH_SHARE, "nothing is proved by what isn't cached"
        assert_builds_agree(up, with_spark=with_spark)


def test_every_method_of_the_cache_is_asked() -> None:
    asked = set(Questions(Random(0), Names(0)).methods)
    assert asked == {*methods(""), *DATABASE_ONLY}


def instances_of(row: Row) -> int:
    """Two instances for the newest release, and for every other row of the older ones."""
    return 2 if row.release == NEWEST else 1 + matrix.ROWS.index(row) % 2


@pytest.mark.timeout(900)
@pytest.mark.by_turns(5)
@pytest.mark.parametrize("row", matrix.parameters(matrix.FOLLOWED))
def test_nothing_differs(request: pytest.FixtureRequest, kafka_broker: str, row: Row) -> None:
    with matrix.running(request, row, instances_of(row), PROPERTIES) as metastores:
        world = World(metastores, kafka_broker)
        check(world, seconds=30, seed=matrix.ROWS.index(row), with_spark=False)


@pytest.mark.hive
@pytest.mark.spark
@pytest.mark.stock
@pytest.mark.mariadb
@pytest.mark.torture
@pytest.mark.timeout(0)
@pytest.mark.parametrize("instances", [1, 2])
@pytest.mark.parametrize("row", matrix.FOLLOWED, ids=str)
def test_nothing_differs_for_long(
    request: pytest.FixtureRequest, kafka_broker: str, row: Row, instances: int
) -> None:
    seed = Random().randrange(1 << 30)
    with matrix.running(request, row, instances, PROPERTIES) as metastores:
        world = World(metastores, kafka_broker, workers=2)
        check(world, seconds=1800, seed=seed, with_spark=True)
