"""A prewarm on Spark: the driver plans, executors read and write.

1. Begin of every load is written and acknowledged.
2. The driver opens a snapshot. Where the database can export it, all tasks read that one moment, so
   the loads have lo = hi. Elsewhere each task has a moment of its own: loads in parts reach from
   the driver's to the last of the tasks'.
3. A task brings many small tables, or a stretch of a large one, and writes chunks as it reads.
4. Loads in parts are ended when all their parts have come.
"""

import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial

import structlog
from pyspark import SparkContext

from connectors.kafka_clients import KafkaTopic
from connectors.loads.plan import Planned
from connectors.loads.spark import tasks
from connectors.loads.spark.task_messages import (
    Counts,
    FinishedLoad,
    LoadPart,
    Loads,
    Reach,
    TaskResult,
    WholeLoads,
    share_out,
)
from hive.errors import SourceError
from hive.reader.snapshot import open_snapshot
from state.records import Scope

ROUNDS_MAX = 3
"""What was not brought is tried again under new ids, so many times in all."""
_BEGINS_A_TASK = 2_000

log = structlog.get_logger(__name__)


class Progress:
    """How much the tasks that ended have brought."""

    def __init__(self, context: SparkContext) -> None:
        self._scopes, self._partitions, self._bytes = (context.accumulator(0) for _ in range(3))
        self.counts = Counts(self._scopes.add, self._partitions.add, self._bytes.add)

    @property
    def scopes(self) -> int:
        return self._scopes.value

    @property
    def partitions(self) -> int:
        return self._partitions.value

    @property
    def bytes(self) -> int:
        return self._bytes.value


def ended_on_spark(context: SparkContext, topic: KafkaTopic, epoch: int) -> set[Scope]:
    """What the topic holds whole: each shard is looked through by a task."""
    context.setJobDescription(f"Metatide: find what {topic.name} holds")
    shards = context.parallelize(range(topic.shards), topic.shards)
    found = shards.flatMap(partial(tasks.find_ended, topic, epoch)).collect()
    return set(found)


def prewarm(context: SparkContext, reach: Reach, planned: Sequence[Planned]) -> None:
    """Loads everything that is planned; raises when some of it can't be loaded."""
    due = list(planned)
    for number in range(ROUNDS_MAX):
        ended, fault = _round(context, reach, due)
        due = [one for one in due if one.scope not in ended]
        if fault is None:
            return
        log.warning("some loads begin anew", loads=len(due), round=number + 1, why=fault)
    raise SourceError(f"{fault}; {len(due)} loads didn't end: run it again, and it goes on")


def _round(
    context: SparkContext, reach: Reach, due: Sequence[Planned]
) -> tuple[set[Scope], str | None]:
    """Gives what ended, and why some loads didn't."""
    loads = {one.scope: uuid.uuid4().hex[:16] for one in due}
    context.setJobDescription(f"Metatide: begin {len(loads)} loads")
    begins = context.parallelize(list(loads.items()), 1 + len(loads) // _BEGINS_A_TASK)
    begins.mapPartitions(partial(tasks.begin, reach)).count()
    with ExitStack() as stack:
        snapshot = stack.enter_context(open_snapshot(reach.make_engine(reach.url), reach.version))
        work = list(share_out(snapshot, due, loads))
        exported = snapshot.export()
        if exported is None:
            # It would only keep the database from cleaning up.
            stack.close()
        work.sort(key=lambda one: one.partitions, reverse=True)
        told = _load(context, reach._replace(exported=exported), work)
    ended = {scope for one in told for scope in one.ended}
    endings = _endings(told, loads)
    if endings:
        context.setJobDescription(f"Metatide: end {len(endings)} loads in parts")
        ends = context.parallelize(endings, min(len(endings), context.defaultParallelism))
        ends.mapPartitions(partial(tasks.end, reach)).count()
        ended.update(one.scope for one in endings)
    return ended, next((one.fault for one in told if one.fault is not None), None)


def _load(
    context: SparkContext, reach: Reach, work: list[WholeLoads | LoadPart]
) -> list[TaskResult]:
    partitions = sum(one.partitions for one in work)
    context.setJobDescription(f"Metatide: load {partitions:,} partitions in {len(work)} tasks")
    return context.parallelize(work, len(work)).map(partial(tasks.load, reach)).collect()


def _endings(told: Sequence[TaskResult], loads: Loads) -> list[FinishedLoad]:
    """The loads of which all parts came."""
    parts: dict[Scope, list[tuple[LoadPart, TaskResult]]] = {}
    for one in told:
        if isinstance(one.work, LoadPart) and one.fault is None:
            parts.setdefault(one.work.scope, []).append((one.work, one))
    return [
        FinishedLoad(
            scope,
            loads[scope],
            found[0][0].position,
            max(one.position for _, one in found),
            tuple(one.chunks for _, one in sorted(found, key=lambda pair: pair[0].place)),
        )
        for scope, found in parts.items()
        if len(found) == found[0][0].places
    ]
