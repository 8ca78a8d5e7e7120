"""The connectors that have been heard in the topic of heartbeats."""

import time
from collections.abc import Iterator
from typing import Any, Final, NamedTuple, Self

import msgspec

from hive.errors import RecordFormatError
from state.records.heartbeats import Heartbeat, decode_heartbeat
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import WATCH_WAIT_MS, PartitionsReader

TAIL_RECORDS: Final = 1_000
"""How many of the last heartbeats a reader begins with."""
FORGOTTEN_S: Final = 600.0
"""A connector that has been silent for longer isn't expected back, if another one is heard."""


class Heard(NamedTuple):
    """The last heartbeat of a connector."""

    heartbeat: Heartbeat
    silent_s: float
    """How long ago it was heard."""

    @property
    def quiet_s(self) -> float:
        """How long ago the connector last read the log, as far as is known."""
        return self.heartbeat.polled_s_ago + self.silent_s


class HeardConnectors:
    """The last heartbeat of each connector, by name and machine."""

    def __init__(self) -> None:
        self._last: dict[tuple[str, str], tuple[Heartbeat, float]] = {}

    def hear(self, heartbeat: Heartbeat, at_s: float) -> None:
        """Takes note of a heartbeat that was sent at a moment of this process's clock."""
        key = heartbeat.name, heartbeat.host
        if heartbeat.ended:
            self._last.pop(key, None)
        else:
            self._last[key] = heartbeat, at_s

    def connectors(self) -> list[Heard]:
        """The connectors, by name."""
        now = time.monotonic()
        heard = [Heard(heartbeat, now - at_s) for heartbeat, at_s in self._last.values()]
        least_s = min((each.silent_s for each in heard), default=0.0)
        recent = [each for each in heard if each.silent_s <= max(FORGOTTEN_S, least_s)]
        return sorted(recent, key=lambda each: (each.heartbeat.name, each.heartbeat.host))


class HeartbeatReader:
    """Reads the topic of heartbeats from near its end on, for one thread.

    The age of an earlier heartbeat is known by the brokers' clock; a new one has just been sent.
    """

    def __init__(self, topic: Topic) -> None:
        """Raises TopicError if there is no such topic yet, or if the brokers don't answer."""
        heartbeats = msgspec.structs.replace(topic, name=topic.heartbeats, shards=1)
        first, self._end = topic_bounds(heartbeats)[0]
        self._start = max(first, self._end - TAIL_RECORDS)
        self._reader = PartitionsReader(heartbeats, WATCH_WAIT_MS)

    def earlier(self, connectors: HeardConnectors) -> None:
        """Reads the heartbeats from before the reader was made."""
        self._note(self._reader.read({0: self._start}, {0: self._end}), connectors)
        self._reader.begin({0: self._end})

    def new(self, connectors: HeardConnectors) -> None:
        """Reads what has come since; never waits."""
        self._note(self._reader.arrived(), connectors)

    def close(self) -> None:
        self._reader.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _note(self, messages: Iterator[Any], connectors: HeardConnectors) -> None:
        for message in messages:
            try:
                heartbeat = decode_heartbeat(message.value() or b"")
            except RecordFormatError:
                # It is of a later release, or of somebody else.
                continue
            age_s = 0.0
            if message.offset() < self._end:
                age_s = max(0.0, time.time() - message.timestamp()[1] / 1000)
            connectors.hear(heartbeat, time.monotonic() - age_s)


def hear_once(topic: Topic) -> list[Heard]:
    """The connectors that the topic of heartbeats tells of now."""
    connectors = HeardConnectors()
    with HeartbeatReader(topic) as reader:
        reader.earlier(connectors)
    return connectors.connectors()
