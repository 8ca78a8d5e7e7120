"""The events topic: which one it is, and at which brokers."""

from typing import Any

from confluent_kafka.admin import AdminClient
from msgspec import Struct

from hive.errors import InputError
from state.topic.settings import Security, admin_client, client_settings


class Topic(Struct, frozen=True):
    """A topic, as it is configured or as the brokers describe it."""

    servers: str
    name: str
    shards: int
    """The number of partitions, which is the configured one while the topic may not exist yet."""
    security: Security = {}
    id: str | None = None
    """The brokers' id of the topic, new if it is created anew; None before they were asked."""

    def require_shard(self, shard: int) -> None:
        """Raises InputError if there is no shard of this number."""
        require_shard(shard, self.shards, f"topic {self.name}")

    @property
    def dead_letter(self) -> str:
        """The name of the topic for rows that can't be read."""
        return f"{self.name}.dead-letter"

    @property
    def heartbeats(self) -> str:
        """The name of the topic in which connectors tell how they are."""
        return f"{self.name}.heartbeats"

    @property
    def signals(self) -> str:
        """The name of the topic in which workers, readers and operators ask connectors."""
        return f"{self.name}.signals"

    @property
    def no_group(self) -> str:
        """The group of consumers that join none. librdkafka requires one, and looks for its
        coordinator.
        """
        return f"{self.name}.none"

    @property
    def client(self) -> dict[str, Any]:
        """The settings of every client of its brokers."""
        return client_settings(self.servers, self.security)

    def admin(self) -> AdminClient:
        """A client for requests to its brokers. Their futures end with it, so it must be held."""
        return admin_client(self.servers, self.security)


def require_shard(shard: int, count: int, topic: str) -> None:
    """Raises InputError if a topic with so many shards has none of this number."""
    if not 0 <= shard < count:
        raise InputError(f"there is no shard {shard}: {topic} has 0 to {count - 1}")
