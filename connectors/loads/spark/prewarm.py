"""A prewarm on Spark: the driver plans, executors read and write.

1. The Begin of every load is written and acknowledged.
2. The driver waits for a snapshot that shows all events published by then, as a replica's may
   not at once. If the database can export it, all pieces read that one moment and the loads have
   lo = hi. Otherwise each piece has a snapshot of its own, and a load in parts spans the
   positions from the driver's to that of the last piece.
3. A piece is many small tables, or a stretch of a large one. A task reads several pieces, and
   writes chunks as it reads.
4. A load in parts ends when all its parts have been written.
"""

import uuid
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from operator import attrgetter

import structlog
from pyspark import SparkContext

from connectors.loads.batch import Database
from connectors.loads.plan import Planned
from connectors.loads.replica import open_reached
from connectors.loads.spark import tasks
from connectors.loads.spark.task_messages import (
    Counts,
    FinishedLoad,
    LoadPart,
    Loads,
    Piece,
    PieceResult,
    Reach,
    cut,
    share_out,
)
from connectors.publish import tails
from hive.errors import SourceError
from hive.reader.engines import unpooled_engine, without_limits
from state.records import Scope
from state.topic import Topic

ROUNDS_MAX = 3
"""How often loads are tried in all; each attempt has new load ids."""
_BEGINS_A_TASK = 2_000

log = structlog.get_logger(__name__)


class Progress:
    """How much the finished tasks have loaded."""

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


def ended_on_spark(context: SparkContext, topic: Topic, epoch: int) -> set[Scope]:
    """The scopes whose loads the topic holds completely; one task reads each shard."""
    context.setJobDescription(f"Metatide: find what {topic.name} holds")
    shards = context.parallelize(range(topic.shards), topic.shards)
    ended = shards.flatMap(partial(tasks.find_ended, topic, epoch)).collect()
    return set(ended)


def prewarm(context: SparkContext, reach: Reach, planned: Sequence[Planned]) -> None:
    """Loads everything that is planned; raises when some of it can't be loaded."""
    due = list(planned)
    for number in range(ROUNDS_MAX):
        ended, fault = _round(context, reach, due)
        due = [item for item in due if item.scope not in ended]
        if fault is None:
            return
        log.warning("some loads are tried again", loads=len(due), round=number + 1, why=fault)
    raise SourceError(f"{fault}; {len(due)} loads didn't end: run it again to continue")


def _round(
    context: SparkContext, reach: Reach, due: Sequence[Planned]
) -> tuple[set[Scope], str | None]:
    """Runs one attempt; returns the scopes whose loads ended, and why others didn't."""
    loads = {item.scope: uuid.uuid4().hex[:16] for item in due}
    context.setJobDescription(f"Metatide: begin {len(loads)} loads")
    begins = context.parallelize(list(loads.items()), 1 + len(loads) // _BEGINS_A_TASK)
    begins.mapPartitions(partial(tasks.begin, reach)).count()
    published = tails.find(reach.topic).furthest.event_id
    database = Database(without_limits(unpooled_engine(reach.url)), reach.version)
    with ExitStack() as stack:
        snapshot = stack.enter_context(open_reached(database, published))
        pieces = list(cut(snapshot, due, loads))
        exported = snapshot.export()
        if exported is None:
            # An open snapshot would only keep the database from vacuuming.
            stack.close()
        reach = reach._replace(exported=exported, reached=snapshot.position)
        results = _load(context, reach, pieces)
    ended = {scope for result in results for scope in result.ended}
    endings = _endings(results, loads)
    if endings:
        context.setJobDescription(f"Metatide: end {len(endings)} loads in parts")
        ends = context.parallelize(endings, min(len(endings), context.defaultParallelism))
        ends.mapPartitions(partial(tasks.end, reach)).count()
        ended.update(ending.scope for ending in endings)
    return ended, next((result.fault for result in results if result.fault is not None), None)


def _load(context: SparkContext, reach: Reach, pieces: Sequence[Piece]) -> list[PieceResult]:
    partitions = sum(piece.partitions for piece in pieces)
    shares = share_out(pieces, context.defaultParallelism)
    context.setJobDescription(f"Metatide: load {partitions:,} partitions in {len(shares)} tasks")
    return context.parallelize(shares, len(shares)).flatMap(partial(tasks.load, reach)).collect()


def _endings(results: Sequence[PieceResult], loads: Loads) -> list[FinishedLoad]:
    """The loads whose parts have all been written."""
    parts: dict[Scope, list[tuple[LoadPart, PieceResult]]] = {}
    for result in results:
        if isinstance(result.piece, LoadPart) and result.fault is None:
            parts.setdefault(result.piece.scope, []).append((result.piece, result))
    return [
        FinishedLoad(
            scope,
            loads[scope],
            written[0][0].position,
            max((result.last for _, result in written), key=attrgetter("event_id")),
            tuple(result.chunks for _, result in sorted(written, key=lambda pair: pair[0].place)),
        )
        for scope, written in parts.items()
        if len(written) == written[0][0].places
    ]
