"""The resolver serves exactly what the model of the serving rules lets it serve."""

from collections import Counter
from random import Random

import pytest
from hypothesis import given, settings

from hive.write_ids.lists import write_id_list
from query_api.consistency import Consistency
from query_api.facts import Current, Facts
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.requirement import Requirement
from query_api.resolver.decision import decide
from query_api.resolver.shard_facts import read_facts
from query_api.targets import Target, TargetKind, of_catalog, of_database
from state.records.routing import home_shard, table_shard
from state.shard_reader import ShardReader
from tests.model import examples, quiet, serving
from tests.model.metastore import DBS, TABLES
from tests.model.serving import ANY, ByWriteIds, ReadRequest
from tests.model.topic import SHARDS
from tests.model.world import Step, World

UNCHECKED = Requirement(Consistency.ANY, must_be_current=False)


pytestmark = pytest.mark.usefixtures("objects_of_the_model")


class Agreement:
    """Compares each decision with the model's, and counts them."""

    def __init__(self) -> None:
        self.decided: Counter[bool] = Counter()

    def __call__(self, world: World, shard: int) -> None:
        reader = world.shards[shard].reader
        for name in TABLES:
            if table_shard(name, SHARDS) == shard:
                self._check_table(reader, Target(TargetKind.TABLE, name))
        for db in DBS:
            if home_shard(db, SHARDS) == shard:
                self._compare(
                    reader, of_database(TargetKind.NAMES, db), ANY, serving.names(reader, db, ANY)
                )
        at_least = ReadRequest(
            at_least=serving.HistoryPosition(reader.head.epoch, reader.head.applied + 1)
        )
        databases = of_catalog(TargetKind.DATABASES, "hive")
        for request in (ANY, at_least):
            self._compare(reader, databases, request, serving.databases(reader, "hive", request))

    def _check_table(self, reader: ShardReader, target: Target) -> None:
        name, row = target.name, reader.table(target.name)
        state = reader.state(name)
        table_id = 0 if state is None else state.id
        cached = reader.write_ids(name).snapshot()
        lists = [write_id_list(3), write_id_list(3, [2])] + ([cached] if cached else [])
        checks = [
            ReadRequest(write_ids=ByWriteIds(ids, table_id or 1, new))
            for ids in lists
            for new in (False, True)
        ]
        head = reader.head
        positions = [
            ReadRequest(at_least=serving.HistoryPosition(head.epoch, head.applied + ahead))
            for ahead in (0, 1)
        ]
        for request in (ANY, *positions, *(checks if row is not None else [])):
            event = 0 if row is None else row.event
            self._compare(reader, target, request, serving.entry(reader, name, event, request))
            whole = serving.table(reader, name, request)
            self._compare(reader, Target(TargetKind.PARTITIONS, name), request, whole)
            constraints = serving.constraints(reader, name, request)
            self._compare(reader, Target(TargetKind.CONSTRAINTS, name), request, constraints)
            truth_says = serving.statistics(reader, name, request)
            self._compare(reader, Target(TargetKind.STATISTICS, name), request, truth_says)
            if serving.entry(reader, name, event, request) is None:
                for values, entry in reader.partitions(name):
                    truth_says = serving.entry(reader, name, entry.event, request)
                    self._compare(
                        reader, Target(TargetKind.PARTITION, name, values), request, truth_says
                    )

    def _compare(
        self,
        reader: ShardReader,
        target: Target,
        request: ReadRequest,
        refusal: serving.Reason | None,
    ) -> None:
        need = UNCHECKED
        if request.at_least is not None:
            need = Requirement(
                Consistency.ANY, must_be_current=False, min_position=Position(*request.at_least)
            )
        if request.write_ids is not None:
            ids, table_id, newer = request.write_ids
            need = Requirement(Consistency.WRITE_IDS, False, ids, table_id, newer)
        facts = read_facts(reader, target, with_ids=request.write_ids is not None)
        verdict = decide(facts, need, None)
        if verdict.reason in (Reason.SILENT_LOG, Reason.EXCLUDED):
            return
        self.decided[verdict.serves] += 1
        assert verdict.serves == (refusal is None), (target, request, verdict, refusal)
        if request.at_least is not None:
            self._compare_current(facts, request.at_least.event, refusal)

    def _compare_current(self, facts: Facts, event: int, refusal: serving.Reason | None) -> None:
        """A reader that must be as new as a read of the sequence, made now or a while ago, is
        served when it could be served at least that event.
        """
        for need in (
            Requirement(),
            Requirement(Consistency.WITHIN, must_be_current=True, max_age_ms=100),
        ):
            verdict = decide(facts, need, Current(event, Reason.BEHIND))
            assert verdict.serves == (refusal is None), (facts, need, verdict, refusal)
            assert decide(facts, need, None).serves is False


@settings(max_examples=25, deadline=None)
@given(examples.steps(60))
def test_it_serves_what_the_model_serves(steps: list[Step]) -> None:
    world = World(Agreement())
    world.run(steps)
    quiet.settle(world)


def test_both_kinds_of_decisions_come_up() -> None:
    agreement = Agreement()
    random = Random(7)
    for _ in range(10):
        world = World(agreement)
        world.run(examples.calm_steps(random, 60))
        quiet.settle(world)
    assert min(agreement.decided[True], agreement.decided[False]) > 100
