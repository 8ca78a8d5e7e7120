"""Ends what goes on from an earlier state once the topic behind it is another one."""

import asyncio
from typing import Final

from hive.errors import MachineError, TopicError
from state.topic import Topic, TopicClient

SAME_TOPIC_S: Final = 5.0


def check_same(topic: Topic) -> None:
    """Raises when the topic was created anew since it was described: its records count from 0
    again, and tell another history."""
    _check(TopicClient(topic.servers, topic.name, topic.security), topic)


async def watch_topic(client: TopicClient, topic: Topic) -> None:
    """Raises when the topic was created anew; whoever is started again begins from its start."""
    while True:
        await asyncio.sleep(SAME_TOPIC_S)
        try:
            await asyncio.to_thread(_check, client, topic)
        except TopicError:
            continue


def _check(client: TopicClient, topic: Topic) -> None:
    current = client.describe()
    if (current.id, current.shards) != (topic.id, topic.shards):
        raise MachineError(f"the topic {topic.name} was created anew: start this process again")
