"""What executors do: they read the database and write the topic.

A load is the work of one try. A task that Spark runs again, because its executor died, brings
nothing, and its loads begin anew under other ids: what a first try wrote and what a second one
reads could differ in where chunks are cut, and chunks that are repeated are ignored.
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache

from pyspark import TaskContext
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from connectors.kafka_clients import KafkaTopic
from connectors.loads.batch import read, read_stretch, read_table_alone, unreadable
from connectors.loads.chunks import Load
from connectors.loads.finished_loads import ended_scopes
from connectors.loads.kafka_sink import KafkaSink
from connectors.loads.spark.task_messages import (
    FinishedLoad,
    LoadPart,
    Reach,
    TaskResult,
    WholeLoads,
)
from hive.errors import MetatideError
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot
from state.records import Scope

_COLLECT_AFTER = 100_000
"""Rows come and go by the thousand and none is in a circle: to look for those costs a fifth."""


def find_ended(topic: KafkaTopic, epoch: int, shard: int) -> set[Scope]:
    """What a shard holds whole."""
    return ended_scopes(topic, epoch, [shard])


def begin(reach: Reach, loads: Iterable[tuple[Scope, str]]) -> Iterator[None]:
    """Returns when the brokers have every Begin."""
    with _sink(reach) as sink:
        for scope, load in loads:
            Load(sink, reach.epoch, load, scope).begin()
        sink.flush()
    yield from ()


def load(reach: Reach, work: WholeLoads | LoadPart) -> TaskResult:
    """Brings what there is to bring. What goes wrong is told: nothing of it counts then."""
    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        return _failed(work, "a task failed, or its executor was lost: see Spark's log")
    gc.set_threshold(_COLLECT_AFTER)
    try:
        with _sink(reach) as sink:
            if isinstance(work, WholeLoads):
                return _load_whole(reach, sink, work)
            return _load_part(reach, sink, work)
    except SQLAlchemyError as error:
        return _failed(work, str(unreadable(error)))
    except MetatideError as error:
        return _failed(work, str(error))


def _failed(work: WholeLoads | LoadPart, why: str) -> TaskResult:
    return TaskResult(work, 0, 0, (), f"{work.what}: {why}")


def end(reach: Reach, endings: Iterable[FinishedLoad]) -> Iterator[None]:
    """Fills up what is missing to equal numbers of chunks, and ends the loads."""
    ended = 0
    with _sink(reach) as sink:
        for one in endings:
            most = max(one.chunks)
            for place, chunks in enumerate(one.chunks):
                part = Load(sink, reach.epoch, one.load, one.scope, place, len(one.chunks))
                part.read_at(one.lo)
                part.chunks = chunks
                part.fill(most)
            part.end(one.hi)
            ended += 1
        sink.flush()
    reach.counts.scopes(ended)
    yield from ()


def _load_whole(reach: Reach, sink: KafkaSink, work: WholeLoads) -> TaskResult:
    loads = {scope: Load(sink, reach.epoch, load, scope) for scope, load in work.loads}
    with _snapshot(reach) as snapshot:
        here = read(snapshot, loads, reach.counts.partitions)
        position = snapshot.position
    for one in here.values():
        one.end()
    sink.flush()
    reach.counts.scopes(len(here))
    return TaskResult(work, position, sum(one.chunks for one in here.values()), tuple(here))


def _load_part(reach: Reach, sink: KafkaSink, work: LoadPart) -> TaskResult:
    one = Load(sink, reach.epoch, work.load, work.scope, work.place, work.places)
    one.read_at(work.position)
    with _snapshot(reach) as snapshot:
        assert reach.exported is None or snapshot.position == work.position
        if work.place == 0:
            read_table_alone(snapshot, one)
        read_stretch(snapshot, one, work.table, work.first, work.last, reach.counts.partitions)
        position = snapshot.position
    sink.flush()
    return TaskResult(work, position, one.chunks, ())


@contextmanager
def _snapshot(reach: Reach) -> Iterator[DatabaseSnapshot]:
    with open_snapshot(
        _engine(reach.make_engine, reach.url), reach.version, reach.exported
    ) as snapshot:
        yield snapshot


@lru_cache(maxsize=1)
def _engine(make: Callable[[str], Engine], url: str) -> Engine:
    """One for all tasks of a process: it knows the statements that it has compiled."""
    return make(url)


@contextmanager
def _sink(reach: Reach) -> Iterator[KafkaSink]:
    sink = KafkaSink(reach.topic, reach.epoch, reach.counts.bytes)
    try:
        yield sink
    finally:
        sink.close()
