"""The tasks of executors: they read the database and write the topic.

A load is the work of one attempt. When Spark runs a task again because its executor died, the task
loads nothing, and its loads begin anew under other ids: the second attempt might cut its chunks in
other places than the first, and a repeated chunk is ignored.
"""

import gc
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import lru_cache

from pyspark import TaskContext
from sqlalchemy import Engine
from sqlalchemy.exc import SQLAlchemyError

from connectors.loads.batch import (
    CONTENT_ERRORS,
    Database,
    read,
    read_stretch,
    read_table_alone,
    refusal,
    unreadable,
)
from connectors.loads.batch import load as load_batch
from connectors.loads.chunks import Load
from connectors.loads.finished_loads import ended_scopes
from connectors.loads.kafka_sink import KafkaSink
from connectors.loads.replica import open_reached
from connectors.loads.spark.task_messages import (
    FinishedLoad,
    LoadPart,
    Piece,
    PieceResult,
    Reach,
    WholeLoads,
)
from connectors.log.last_event import LastEvent, read_last_event
from hive.errors import MetatideError, PublishError, RefusedLoadError, UnwritableRecordError
from hive.reader.engines import pooled_engine, without_limits
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot
from state.records import Scope
from state.topic import Topic

_COLLECT_AFTER = 100_000
"""Rows come and go by the thousand and form no cycles; a search for these costs a fifth more."""


def find_ended(topic: Topic, epoch: int, shard: int) -> set[Scope]:
    """The scopes whose loads one shard holds completely."""
    return ended_scopes(topic, epoch, [shard])


def begin(reach: Reach, loads: Iterable[tuple[Scope, str]]) -> Iterator[None]:
    """Writes the Begin of loads; returns when the brokers have all of them."""
    with _sink(reach) as sink:
        for scope, load in loads:
            Load(sink, reach.epoch, load, scope).begin()
        sink.flush()
    yield from ()


def load(reach: Reach, pieces: Sequence[Piece]) -> list[PieceResult]:
    """Reads and writes the pieces of one task. A failure is returned, not raised, and voids the
    loads of its piece; those of all pieces if brokers don't take them."""
    context = TaskContext.get()
    if context is not None and context.attemptNumber() > 0:
        why = "a task failed, or its executor was lost: see Spark's log"
        return [_failed(piece, why) for piece in pieces]
    gc.set_threshold(_COLLECT_AFTER)
    try:
        # Brokers acknowledge what a new producer sends after half a second at the earliest, so
        # nobody waits for them between two pieces.
        with _sink(reach) as sink:
            results = [_load(reach, sink, piece) for piece in pieces]
            sink.flush()
    except MetatideError as error:
        return [_failed(piece, str(error)) for piece in pieces]
    finally:
        _engine(reach.url).dispose()
    reach.counts.scopes(sum(len(result.ended) for result in results))
    return results


def _load(reach: Reach, sink: KafkaSink, piece: Piece) -> PieceResult:
    try:
        if isinstance(piece, LoadPart):
            return _load_part(reach, sink, piece)
        try:
            return _load_whole(reach, sink, piece)
        except CONTENT_ERRORS as error:
            fault = refusal(_database(reach), error)
            if not isinstance(fault, RefusedLoadError):
                raise fault from error
            return _load_alone(reach, sink, piece)
    except SQLAlchemyError as error:
        return _failed(piece, str(unreadable(error)))
    except UnwritableRecordError as error:
        return _failed(piece, str(error))
    except PublishError:
        # What other pieces have sent is lost, too.
        raise
    except (MetatideError, UnicodeError) as error:
        return _failed(piece, str(error))


def _failed(piece: Piece, why: str) -> PieceResult:
    return PieceResult(piece, LastEvent(0), 0, (), f"{piece.what}: {why}")


def end(reach: Reach, endings: Iterable[FinishedLoad]) -> Iterator[None]:
    """Fills the places of each load up to equal numbers of chunks, and ends the loads."""
    ended = 0
    with _sink(reach) as sink:
        for ending in endings:
            most = max(ending.chunks)
            for place, chunks in enumerate(ending.chunks):
                part = Load(sink, reach.epoch, ending.load, ending.scope, place, len(ending.chunks))
                part.read_at(ending.lo)
                part.chunks = chunks
                part.fill(most)
            part.end(ending.last)
            ended += 1
        sink.flush()
    reach.counts.scopes(ended)
    yield from ()


def _load_whole(reach: Reach, sink: KafkaSink, piece: WholeLoads) -> PieceResult:
    loads = {scope: Load(sink, reach.epoch, load, scope) for scope, load in piece.loads}
    with _snapshot(reach) as snapshot:
        here = read(snapshot, loads, reach.counts.partitions)
        last = read_last_event(snapshot)
    for whole in here.values():
        whole.end(last)
    return PieceResult(piece, last, sum(whole.chunks for whole in here.values()), tuple(here))


def _load_alone(reach: Reach, sink: KafkaSink, piece: WholeLoads) -> PieceResult:
    """Loads what a refused batch holds one by one, as new loads: what can't be loaded keeps nothing
    else out."""
    database, last, ended, faults = _database(reach), LastEvent(0), [], []
    for scope, _ in piece.loads:
        try:
            batch = load_batch(database, sink, reach.epoch, [scope], reach.counts.partitions)
        except CONTENT_ERRORS as error:
            faults.append(f"load of {scope.kind.value} {scope.name}: {refusal(database, error)}")
        else:
            last = batch.last
            ended.append(scope)
    return PieceResult(piece, last, 0, tuple(ended), "; ".join(faults) or None)


def _load_part(reach: Reach, sink: KafkaSink, piece: LoadPart) -> PieceResult:
    part = Load(sink, reach.epoch, piece.load, piece.scope, piece.place, piece.places)
    part.read_at(piece.position)
    with _snapshot(reach) as snapshot:
        assert reach.exported is None or snapshot.position == piece.position
        if piece.place == 0:
            read_table_alone(snapshot, part)
        read_stretch(snapshot, part, piece.table, piece.first, piece.last, reach.counts.partitions)
        last = read_last_event(snapshot)
    return PieceResult(piece, last, part.chunks, ())


@contextmanager
def _snapshot(reach: Reach) -> Iterator[DatabaseSnapshot]:
    database = _database(reach)
    if reach.exported is None:
        # Another server may answer than the driver's.
        opened = open_reached(database, reach.reached)
    else:
        opened = open_snapshot(*database, reach.exported)
    with opened as snapshot:
        yield snapshot


def _database(reach: Reach) -> Database:
    return Database(_engine(reach.url), reach.version)


@lru_cache(maxsize=1)
def _engine(url: str) -> Engine:
    """One engine for all tasks of a process, so that compiled statements are reused."""
    return without_limits(pooled_engine(url, 1))


@contextmanager
def _sink(reach: Reach) -> Iterator[KafkaSink]:
    sink = KafkaSink(reach.topic, reach.epoch, reach.counts.bytes)
    try:
        yield sink
    finally:
        sink.close()
