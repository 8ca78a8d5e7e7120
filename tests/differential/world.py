"""What a run needs: metastores with their database, and a whole stack that follows them."""

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from metatide.stack.machine import LOOPBACK, free_port
from tests.support import local_http
from tests.support.hive.metastore import Instances
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

    def numbers(self) -> range:
        return range(1, self.workers + 1)


@dataclass
class Standing:
    """A world with a stack that is up."""

    world: World
    stack: Stack
    thrift: tuple[str, ...]
    """The address of each worker's Thrift port."""
    topic: str
    images: str
    _runs: Iterator[int] = field(default_factory=lambda: itertools.count(1))

    @property
    def http(self) -> tuple[str, ...]:
        """The address of each worker's HTTP port."""
        return tuple(self.stack.entry(f"worker-{n}").address for n in self.world.numbers())

    def metrics(self) -> str:
        """The pages of all workers."""
        return "".join(local_http.get(f"{url}/metrics", timeout=30).text for url in self.http)

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
            thrift = tuple(
                f"thrift://{LOOPBACK}:{ports.get(f'worker-{number}-thrift', port)}"
                for number in world.numbers()
            )
            yield Standing(world, up, thrift, topic, images)
