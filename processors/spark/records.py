"""Folds the records that Spark brings, and reads others from the topic."""

from typing import Any

from hive.errors import RecordFormatError
from processors.applier import Applier
from processors.replay.replay import replay
from state.store import Store
from state.topic import Topic, TopicReader


def add(topic: Topic, store: Store, applier: Applier, row: Any) -> None:
    """Folds a record. One that can't be read is read from the topic, where an order to skip it may
    come later than what Spark brings."""
    try:
        applier.add(row.offset, bytes(row.value or b""))
    except RecordFormatError:
        applier.commit()
        fetch(topic, store, row.offset + 1)
        applier.resume()


def fetch(topic: Topic, store: Store, end: int) -> None:
    """Folds the records of the topic up to an offset."""
    with TopicReader(topic) as reader:
        replay(store, reader, end=end)
