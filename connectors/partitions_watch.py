"""Notices that somebody has added partitions to the topic while a connector runs."""

import time
from typing import TYPE_CHECKING, Any, Final

from confluent_kafka import KafkaException, TopicCollection

from connectors.topic_admin import require_count
from state.topic import Topic
from state.topic.settings import REQUEST_TIMEOUT_S

if TYPE_CHECKING:
    from concurrent.futures import Future

_LOOK_S: Final = 1.0


class PartitionsWatch:
    """Asks the brokers how many partitions there are, without waiting for their answer.

    A table's shard depends on their number. Of two connectors that know different numbers, each
    would tell shards that an event doesn't concern them which the other one sends it to, and
    whichever of the two records came first would count.
    """

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._admin = topic.admin()
        self._answer: Future[Any] | None = None
        self._asks_at_s = time.monotonic()

    def look(self) -> None:
        """Raises OtherTopicError soon after there are other partitions."""
        if self._answer is None:
            if time.monotonic() >= self._asks_at_s:
                self._answer = self._ask()
        elif self._answer.done():
            answer, self._answer = self._answer, None
            self._asks_at_s = time.monotonic() + _LOOK_S
            try:
                count = len(answer.result().partitions)
            except KafkaException:
                # Brokers that don't answer don't take records either.
                return
            require_count(self._topic, count)

    def _ask(self) -> "Future[Any]":
        names = TopicCollection([self._topic.name])
        answers = self._admin.describe_topics(names, request_timeout=REQUEST_TIMEOUT_S)
        answer: Future[Any] = answers[self._topic.name]
        return answer
