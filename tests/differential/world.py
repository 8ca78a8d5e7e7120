"""What a run needs: metastores with their database, and a whole stack that follows them."""

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

import httpx

from metatide.stack.machine import LOOPBACK, free_port
from tests.support.metastore import Instances
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack

_TOPICS = itertools.count(1)
PROPERTIES: Final[Mapping[str, str]] = {
    # Expressions are expected as the text of filters, as in metastores without Hive's own jar.
    "metastore.expression.proxy": ("org.apache.hadoop.hive.metastore.MsckPartitionExpressionProxy"),
    # Overlapping writers run into deadlocks, after which a metastore waits for minutes by default.
    "metastore.notification.sequence.lock.max.retries": "1",
    "metastore.notification.sequence.lock.retry.sleep.interval": "1s",
    "metastore.hmshandler.retry.attempts": "2",
    "metastore.hmshandler.retry.interval": "100ms",
    # One of the chores would remove aborted transactions at any moment.
    "metastore.housekeeping.threads.on": "false",
}
"""The settings that a world's metastores must be started with."""


@dataclass(frozen=True)
class World:
    """The services that exist before the stack."""

    metastores: Instances
    """Metastores that were started with PROPERTIES."""
    broker: str
    shards: int = 4
    workers: int = 1


@dataclass
class Standing:
    """A world with a stack that is up."""

    world: World
    stack: Stack
    thrift: str
    topic: str
    images: str
    _runs: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def http(self) -> str:
        return self.stack.entry("worker-1").address

    def metrics(self) -> str:
        return httpx.get(f"{self.http}/metrics", timeout=30).text

    def new_run(self) -> int:
        """The number of a new run, whose names nobody uses yet."""
        return next(self._runs)

    def environment(self) -> dict[str, str]:
        """The environment in which the command line uses this stack."""
        return {
            "METATIDE_DATA_DIR": str(self.stack.folder),
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": self.world.broker,
            "METATIDE_KAFKA_TOPIC": self.topic,
            "METATIDE_IMAGES_URL": self.images,
            "METATIDE_WORKER_NAME": "worker-1",
        }


@contextmanager
def standing(world: World) -> Iterator[Standing]:
    """Runs a stack on a world."""
    port = free_port()
    topic = f"differential-{port}-{next(_TOPICS)}"
    with open_folder() as parent:
        images = f"file://{parent / 'images'}"
        with stack(
            parent / "data",
            *("--kafka", world.broker, "--workers", str(world.workers)),
            *("--thrift-port", str(port)),
            METATIDE_DATABASE_URL=world.metastores.database_url,
            METATIDE_UPSTREAM_URL=",".join(world.metastores.addresses),
            METATIDE_KAFKA_TOPIC=topic,
            METATIDE_KAFKA_PARTITIONS=str(world.shards),
            METATIDE_IMAGES_URL=images,
        ) as up:
            ports = json.loads((up.folder / "ports.json").read_text())
            thrift = ports.get("worker-1-thrift", port)
            yield Standing(world, up, f"thrift://{LOOPBACK}:{thrift}", topic, images)
