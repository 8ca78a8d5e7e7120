"""Properties of librdkafka that the other two libraries have, too, and their names there."""

from collections.abc import Mapping
from typing import Final, NamedTuple


class Equal(NamedTuple):
    """A property in Kafka's Java client, by which Spark reads, and in aiokafka, by which workers
    follow."""

    java: str
    aiokafka: str


RACK: Final = "client.rack"
EQUALS: Final[Mapping[str, Equal]] = {
    RACK: Equal("client.rack", "client_rack"),
    "connections.max.idle.ms": Equal("connections.max.idle.ms", "connections_max_idle_ms"),
    # In librdkafka, metadata.max.age.ms is when it forgets, not when it asks again.
    "topic.metadata.refresh.interval.ms": Equal("metadata.max.age.ms", "metadata_max_age_ms"),
}
