"""The services to examine: those in the configuration, or those of a running stack."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from hive.names import DEFAULT_CATALOG
from metatide.config import Config
from metatide.config.thrift import Thrift
from metatide.config.upstream import Upstream
from metatide.health import Thresholds
from metatide.health.thresholds import thresholds
from metatide.stack.metastore import own_classes
from metatide.stack.running import completed, runs_metastore


@dataclass(frozen=True)
class Target:
    """Addresses of services, as clients use them; None if neither configured nor running."""

    kafka: str | None
    topic: str
    partitions: int
    database_url: str | None
    upstream: Upstream | None
    """The metastores, and how to talk to them."""
    advertised_host: str | None = None
    """By what name the worker's own principal is known."""
    default_catalog: str = DEFAULT_CATALOG
    """The configured catalog of names without a catalog."""
    needs_java: bool = True
    needs_workers_secret: bool = False
    """Whether workers ask each other only if they have a secret."""
    workers_secret: Path | None = None
    """The file with the workers' secret."""
    thrift: Thrift = field(default_factory=Thrift)
    """How clients log in at the Thrift server, and which reads it leaves to the metastores."""
    hive_classpath: str | None = None
    """The class path of the Java process that reads expressions for the Thrift server."""
    hive_java: Path | None = None
    security: Mapping[str, str] = field(default_factory=dict)
    """The settings of TLS and SASL for configured brokers, in librdkafka's terms."""
    thresholds: Thresholds = field(default_factory=Thresholds)
    """The ages from which on something is late."""


def find_target(config: Config) -> Target:
    """Finds addresses in the configuration; missing ones are those of a stack on its data
    directory.
    """
    whole = completed(config)
    classpath: str | None = config.thrift.hive_classpath
    java = config.thrift.hive_java
    if classpath is None and runs_metastore(config):
        classpath, java = own_classes()
    return Target(
        kafka=whole.kafka.bootstrap_servers,
        topic=whole.kafka.topic,
        partitions=whole.kafka.partitions,
        database_url=whole.database.full_url,
        upstream=None if whole.upstream.url is None else whole.upstream,
        advertised_host=config.worker.advertised_host,
        default_catalog=config.database.default_catalog.lower(),
        needs_workers_secret=config.needs_workers_secret,
        workers_secret=whole.worker.secret_file,
        thrift=config.thrift,
        hive_classpath=classpath,
        hive_java=java,
        needs_java=config.kafka.bootstrap_servers is None or config.metastore,
        security=whole.kafka.security,
        thresholds=thresholds(config),
    )
