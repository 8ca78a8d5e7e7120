"""What is examined: the parts that the configuration names, or those of a running stack."""

from dataclasses import dataclass

from metatide.config import Config


@dataclass(frozen=True)
class Target:
    """Addresses as clients use them; None where nothing is named and nothing runs."""

    kafka: str | None
    topic: str
    partitions: int
    database_url: str | None
    upstream: tuple[str, int] | None


def find_target(config: Config) -> Target:
    """The addresses of the configuration."""
    return Target(
        kafka=config.kafka.bootstrap_servers,
        topic=config.kafka.topic,
        partitions=config.kafka.partitions,
        database_url=config.database.full_url,
        upstream=config.upstream.url.address if config.upstream.url else None,
    )
