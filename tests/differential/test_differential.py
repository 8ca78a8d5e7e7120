"""Random writers against real metastores: the endpoint says what they say, at every moment.

A seed repeats a run: METATIDE_DIFFERENTIAL_SEED=SEED:NUMBER begins with that run of that seed.
"""

import os
from random import Random

import pytest

from query_api.thrift.methods.method_table import methods
from tests.differential.ending import assert_builds_agree, audit
from tests.differential.names import Names
from tests.differential.questions import Questions
from tests.differential.report import Report
from tests.differential.series import series
from tests.differential.shrinking import Story
from tests.differential.world import PROPERTIES, World, standing
from tests.support.metastore import Instances, MetastoreFactory

SEED = "METATIDE_DIFFERENTIAL_SEED"
STORIES_MAX = 3
DATABASE_ONLY = {"get_current_notificationEventId"}
FRESH_SHARE = 0.1
ASKED_LEAST = 10


def check(world: World, *, seconds: float, seed: int, with_spark: bool) -> None:
    """Runs on this world for so long; nothing may differ, and much must have been cached."""
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
        found = audit(up)
        assert not found["disagreements"], found["disagreements"][:3]
        assert found["totals"]["objects"]["seen"] > 0
        asked = {one for one, of in report.answers.items() if of.total() >= ASKED_LEAST}
        seldom = report.seldom_fresh(asked & set(methods("")) - DATABASE_ONLY, FRESH_SHARE)
        assert not seldom, seldom
        assert_builds_agree(up, with_spark=with_spark)


def test_every_method_of_the_cache_is_asked() -> None:
    asked = set(Questions(Random(0), Names(0)).methods)
    assert asked == {*methods(""), *DATABASE_ONLY}


@pytest.mark.hive
@pytest.mark.timeout(900)
@pytest.mark.parametrize("instances", [1, 2])
def test_nothing_differs(
    metastore_factory: MetastoreFactory, kafka_broker: str, instances: int
) -> None:
    metastores = metastore_factory(instances, properties=PROPERTIES)
    check(World(metastores, kafka_broker), seconds=90, seed=instances, with_spark=False)


@pytest.mark.hive
@pytest.mark.spark
@pytest.mark.torture
@pytest.mark.timeout(5400)
def test_nothing_differs_for_an_hour(
    metastore_factory: MetastoreFactory, kafka_broker: str
) -> None:
    metastores: Instances = metastore_factory(2, properties=PROPERTIES)
    seed = Random().randrange(1 << 30)
    world = World(metastores, kafka_broker, workers=2)
    check(world, seconds=3600, seed=seed, with_spark=True)
