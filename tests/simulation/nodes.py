"""The simulated processes that run production code: connectors and workers."""

import asyncio
from collections.abc import Callable, Coroutine
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from connectors.connector import Connector
from connectors.loads.loader import Loader
from connectors.publish.watermark import Watermark
from connectors.settings import Pace
from metatide.worker.shards import WorkerShards
from processors.worker.worker import Worker, WorkerSettings
from query_api.backend import Backend
from query_api.http import Settings, create_app
from query_api.http.server import ReadServer
from query_api.partners import Partners
from state.topic import Topic
from tests.simulation.database import Database
from tests.simulation.database_reads import SimulatedPrimary, SimulatedSource
from tests.simulation.event_loop import SimulatedLoop
from tests.simulation.network import Network
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.stores import Disk

TOPIC: Final = "events"
GROUP: Final = "metatide"
HTTP_PORT: Final = 1
_SECRET: Any = SimpleNamespace(key=b"of all workers")
_IMAGES_EVERY_S: Final = 30.0


class Node:
    """A process that is started again after it has ended."""

    def __init__(self, scheduler: Scheduler, name: str, network: Network) -> None:
        self.name = name
        self.network = network
        self.process: Process
        self._scheduler = scheduler
        self._lives = 0

    @property
    def alive(self) -> bool:
        return self.process.alive

    def start(self) -> None:
        self._lives += 1
        self.process = Process(self._scheduler, self.name)
        self._begin()

    def kill(self) -> None:
        self.process.kill()
        self.network.end(self.process)

    def _begin(self) -> None:
        raise NotImplementedError


class ConnectorNode(Node):
    """A connector and its loader."""

    def __init__(
        self,
        scheduler: Scheduler,
        number: int,
        network: Network,
        shards: int,
        source: Callable[[], SimulatedSource],
    ) -> None:
        super().__init__(scheduler, f"connector-{number}", network)
        self._topic = Topic("brokers", TOPIC, shards)
        self._source = source

    def _begin(self) -> None:
        self.process.spawn(self._main, "connector")

    def _main(self) -> None:
        engine: Any = None
        watermark = Watermark()
        loader = Loader(engine, self._topic, watermark=watermark)
        connector = Connector(
            self._source(),
            self._topic,
            pace=Pace(transactions_s=10.0),
            on_epoch=loader.begin_epoch,
            requested_epoch=lambda: loader.requested_epoch,
            watermark=watermark,
        )
        connector.run()


class WorkerNode(Node):
    """A worker with its disk, and what answers reads in it."""

    def __init__(
        self,
        scheduler: Scheduler,
        number: int,
        network: Network,
        database: Database,
        disk: Disk,
        *,
        images: bool,
        serves: bool,
    ) -> None:
        super().__init__(scheduler, f"worker-{number}", network)
        self.disk = disk
        self.loop: SimulatedLoop
        self.worker: Worker | None = None
        self.backend: Backend | None = None
        self.serves: Final = serves
        """Whether it has servers for clients and for other workers."""
        self._database = database
        self._images_url = "images" if images else None

    def kill(self) -> None:
        super().kill()
        self.loop.close()
        self.disk.crash(self._scheduler.random(f"{self.name} ends its life {self._lives}"))
        self.worker = self.backend = None

    def submit(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Runs a coroutine in the process."""
        self.loop.call_soon_threadsafe(lambda: self.loop.create_task(work()))

    def _begin(self) -> None:
        self.loop = SimulatedLoop(self._scheduler, self.process, self.network)
        self.loop.start(self._main)

    async def _main(self) -> None:
        address = f"{self.name}:{HTTP_PORT}"
        settings = WorkerSettings(
            servers="brokers",
            topic=TOPIC,
            path=Path("/simulated") / self.name,
            name=self.name,
            group=GROUP,
            address=address,
            images_url=self._images_url,
            images_every_s=_IMAGES_EVERY_S,
            images_keep=2,
        )
        self.worker = Worker(settings)
        self.backend = Backend(WorkerShards(self.worker), SimulatedPrimary(self._database))
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self.worker.run())
            if self.serves:
                partners = Partners(_SECRET, address)
                app = create_app(self.backend, Settings(partners=partners))
                tasks.create_task(ReadServer(app, self.name, HTTP_PORT).serve())
