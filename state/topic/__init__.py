"""The topic that carries the records: where it is, what it holds, and readers of its messages."""

from state.topic.client import Bounds, TopicClient
from state.topic.description import Topic
from state.topic.reader import StoredRecord, TopicReader

__all__ = ["Bounds", "StoredRecord", "Topic", "TopicClient", "TopicReader"]
