"""Ends what goes on from an earlier state once the topic behind it is another one, or has other
partitions."""

import asyncio
import time
from contextlib import suppress
from typing import Final

from hive.errors import MachineError, TopicError
from state.topic.client import TopicClient
from state.topic.description import Topic
from state.topic.settings import WAITED_S_MAX

SAME_TOPIC_S: Final = 5.0


class TopicWatch:
    """Raises when the topic was created anew, for a loop that calls it often and has a thread to
    itself."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._client = TopicClient(topic.servers, topic.name, topic.security)
        self._looked = time.monotonic()

    def look(self) -> None:
        if time.monotonic() - self._looked < SAME_TOPIC_S:
            return
        # The brokers may not be able to tell now.
        with suppress(TopicError):
            _check(self._client.describe(WAITED_S_MAX), self._topic)
        self._looked = time.monotonic()


def check_same(topic: Topic) -> None:
    """Raises when the topic was created anew since it was described: its records count from 0
    again, and tell another history."""
    _check(TopicClient(topic.servers, topic.name, topic.security).describe(), topic)


async def watch_topic(client: TopicClient, topic: Topic) -> None:
    """Raises when the topic was created anew; whoever is started again begins from its start."""
    while True:
        await asyncio.sleep(SAME_TOPIC_S)
        try:
            current = await asyncio.to_thread(client.describe, WAITED_S_MAX)
        except TopicError:
            continue
        _check(current, topic)


def _check(current: Topic, topic: Topic) -> None:
    if current.id != topic.id:
        raise MachineError(f"the topic {topic.name} was created anew: start this process again")
    if current.shards != topic.shards:
        raise MachineError(
            f"the topic {topic.name} has {current.shards} partitions instead of {topic.shards}: "
            "start this process again"
        )
