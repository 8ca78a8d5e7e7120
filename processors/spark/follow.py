"""Keeps images fresh: Structured Streaming brings records, executors fold them into the next image.

The images alone decide where folding continues. Spark's checkpoint lasts for one run and schedules
its batches; the next run begins at the offsets of the newest images.
"""

import json
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from itertools import chain
from typing import Any, Final

import structlog
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from hive.errors import MetatideError, TopicError
from processors.applier import Applier
from processors.lost_records import has_records_of
from processors.spark.build import Built, Place, publish
from processors.spark.executor_store import kept_store
from processors.spark.kafka_source import source_options
from processors.spark.records import add, fetch
from processors.spark.task import errors_with_shard
from state.image import Images
from state.store import MemoryBudget
from state.store.families import shard_identity
from state.topic import Bounds, Topic, TopicReader
from state.topic.same_topic import SAME_TOPIC_S, check_same

BATCH_RECORDS_MAX: Final = 1_000_000
_WAIT_S: Final = 1

Heard = Callable[[Built], None]

log = structlog.get_logger(__name__)


class Follower:
    """The query of one run."""

    def __init__(
        self, session: SparkSession, topic: Topic, place: Place, keep: int, heard: Heard
    ) -> None:
        self._session = session
        self._topic = topic
        self._place = place
        self._keep = keep
        self._heard = heard

    def once(self, bounds: Mapping[int, Bounds]) -> None:
        """Runs until the images hold what the topic held at the start."""
        self._run(bounds, availableNow=True)

    def follow(self, bounds: Mapping[int, Bounds], every_s: float) -> None:
        """Runs until it is interrupted."""
        self._run(bounds, processingTime=f"{every_s} seconds")

    def _run(self, bounds: Mapping[int, Bounds], **trigger: Any) -> None:
        self._session.sparkContext.setJobDescription(f"Metatide: images of {self._topic.name}")
        with tempfile.TemporaryDirectory(prefix="metatide-checkpoint-") as folder:
            records = (
                self._session.readStream.format("kafka")
                .options(**source_options(self._topic))
                .option("startingOffsets", self._starts(bounds))
                .option("maxOffsetsPerTrigger", BATCH_RECORDS_MAX)
                # By the offsets of records, the fold notices what the topic has lost.
                .option("failOnDataLoss", "false")
                .load()
                .select("partition", "offset", "value")
            )
            query = (
                records.writeStream.queryName(f"images of {self._topic.name}")
                .option("checkpointLocation", f"file://{folder}")
                .foreachBatch(self._batch)
                .trigger(**trigger)
                .start()
            )
            _await(query, self._topic)

    def _starts(self, bounds: Mapping[int, Bounds]) -> str:
        """The offsets after the newest images, or the first ones that the topic still has."""
        images = Images(self._place.url, MemoryBudget(self._place.memory_bytes))
        starts = {}
        with TopicReader(self._topic) as reader:
            for shard, there in bounds.items():
                fits = partial(has_records_of, reader, shard)
                newest = next(images.fitting(shard_identity(self._topic, shard), fits), None)
                offset = 0 if newest is None else newest.position.offset
                starts[str(shard)] = max(offset, there.first)
        return json.dumps({self._topic.name: starts})

    def _batch(self, records: DataFrame, number: int) -> None:
        context = self._session.sparkContext
        context.setJobDescription(f"Metatide: images of {self._topic.name}, batch {number}")
        fold = partial(_fold, self._topic, self._place, self._keep)
        for built in records.rdd.mapPartitions(fold).collect():
            self._heard(built)


def _await(query: StreamingQuery, topic: Topic) -> None:
    """Waits in short steps, so that Ctrl-C gets through, and until the topic is another one: Spark
    goes on in that as if it had lost records, or waits until it is as long."""
    due = time.monotonic() + SAME_TOPIC_S
    try:
        while not query.awaitTermination(_WAIT_S):
            if time.monotonic() >= due:
                due = time.monotonic() + SAME_TOPIC_S
                with suppress(TopicError):
                    check_same(topic)
    finally:
        query.stop()


def _fold(topic: Topic, place: Place, keep: int, rows: Iterable[Any]) -> Iterator[Built]:
    """Folds records of one shard; the source gives each partition of the topic to one task, in
    order."""
    records = iter(rows)
    first = next(records, None)
    if first is None:
        return
    shard = first.partition
    with kept_store(topic, shard, place) as local, errors_with_shard(local.store):
        applier = Applier(local.store)
        for row in chain((first,), records):
            assert row.partition == shard
            if row.offset > applier.next_offset:
                applier.commit()
                fetch(topic, local.store, row.offset)
                applier.resume()
            add(topic, local.store, applier, row)
            if applier.full:
                applier.commit()
        applier.commit()
        if local.store.position.offset > local.imaged:
            built = publish(topic, local.images, local.store, local.scratch, digested=False)
            try:
                with TopicReader(topic) as reader:
                    fits = partial(has_records_of, reader, shard)
                    local.images.prune(local.store.identity, keep, fits=fits)
            except (OSError, MetatideError) as error:
                log.warning("old images weren't pruned", shard=shard, error=str(error))
            yield built
