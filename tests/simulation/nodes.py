"""The simulated processes that run production code, and metastores."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Final

from connectors.connector import Connector
from connectors.loads.loader import Loader
from connectors.publish.watermark import Watermark
from connectors.settings import Pace
from hive.errors import MachineError
from metatide.worker.epoch_watch import EpochWatch
from metatide.worker.shards import WorkerShards
from processors.worker.worker import Worker, WorkerSettings
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.http import Settings, create_app
from query_api.http.server import ReadServer
from query_api.peers import Peers
from query_api.requirement_defaults import Defaults
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.methods import CachedMethods
from query_api.thrift.server import ThriftServer
from state.topic import Topic
from tests.simulation.database import Database
from tests.simulation.database_reads import SimulatedPrimary, SimulatedSource
from tests.simulation.event_loop import SimulatedLoop
from tests.simulation.metastore import AboutToCommit, Metastore
from tests.simulation.metastore_server import MetastoreServer
from tests.simulation.network import Address, Network
from tests.simulation.scheduler import Process, Scheduler
from tests.simulation.stores import Disk
from tests.simulation.thrift_calls import WAREHOUSE

TOPIC: Final = "events"
GROUP: Final = "metatide"
METASTORES: Final = 2
METASTORE_PORT: Final = 9083
HTTP_PORT: Final = 1
THRIFT_PORT: Final = 2
_SECRET: Any = SimpleNamespace(key=b"of all workers")
_RESTART_S: Final = 1.0
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

    def fail(self, error: BaseException) -> None:
        """Ends with an error; what watches over the process starts it again."""
        self._scheduler.note(f"ends: {error}")
        self.process.end()
        self._scheduler.after(0.0, self._end_life)

    def start_if_ended(self) -> None:
        if not self.alive:
            self._scheduler.note(f"{self.name} starts")
            self.start()

    def _end_life(self) -> None:
        self.kill()
        self._scheduler.after(_RESTART_S, self.start_if_ended)

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
        database: Database,
        *,
        poll_interval_ms: int,
    ) -> None:
        super().__init__(scheduler, f"connector-{number}", network)
        self._topic = Topic("brokers", TOPIC, shards)
        self._database = database
        self._pace = Pace(poll_interval_ms=poll_interval_ms, transactions_s=10.0)

    def _begin(self) -> None:
        self.process.spawn(self._main, "connector")

    def _main(self) -> None:
        engine: Any = None
        watermark = Watermark()
        loader = Loader(engine, self._topic, watermark=watermark)
        connector = Connector(
            SimulatedSource(self._database, self._pace.poll_interval_ms),
            self._topic,
            pace=self._pace,
            on_epoch=loader.begin_epoch,
            requested_epoch=lambda: loader.requested_epoch,
            watermark=watermark,
        )
        try:
            connector.run()
        except MachineError as error:
            self.fail(error)


class MetastoreNode(Node):
    """A metastore, with its writers and its server."""

    def __init__(
        self,
        scheduler: Scheduler,
        number: int,
        network: Network,
        database: Database,
        about_to_commit: AboutToCommit,
        *,
        serves: bool,
        cache_s: float,
    ) -> None:
        super().__init__(scheduler, metastore_name(number), network)
        self.metastore: Final = Metastore(scheduler, database, self.name, about_to_commit)
        self._database = database
        self._loop: SimulatedLoop | None = None
        self._serves = serves
        self._cache_s = cache_s

    def kill(self) -> None:
        super().kill()
        if self._loop is not None:
            self._loop.close()

    def write(self, kind: str, picks: tuple[int, ...]) -> None:
        if self.alive:
            self.process.spawn(partial(self.metastore.write, kind, picks), "write")

    def _begin(self) -> None:
        if self._serves:
            self._loop = SimulatedLoop(self._scheduler, self.process, self.network)
            self._loop.start(self._serve)

    async def _serve(self) -> None:
        server = partial(MetastoreServer, self.metastore, self._database, self._cache_s)
        await asyncio.get_running_loop().create_server(server, self.name, METASTORE_PORT)
        await asyncio.Event().wait()


def metastore_name(number: int) -> str:
    return f"metastore-{number}"


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
        thrift: Consistency | None,
    ) -> None:
        """Without `thrift`, the default consistency of calls over Thrift, it has no servers."""
        super().__init__(scheduler, f"worker-{number}", network)
        self.disk = disk
        self.loop: SimulatedLoop
        self.worker: Worker | None = None
        self.backend: Backend | None = None
        self.thrift: Final = thrift
        self._database = database
        self._images_url = "images" if images else None
        self._metastores = tuple((metastore_name(n), METASTORE_PORT) for n in range(METASTORES))

    def kill(self) -> None:
        super().kill()
        self.loop.close()
        self.disk.crash(self._scheduler.random(f"{self.name} ends its life {self._lives}"))
        self.worker = self.backend = None

    def submit(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Runs a coroutine in the process."""
        self.loop.submit(work)

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
        try:
            async with asyncio.TaskGroup() as tasks:
                if self.thrift is None:
                    shards = WorkerShards(self.worker)
                    self.backend = Backend(shards, SimulatedPrimary(self._database))
                else:
                    await self._serve(self.worker, self.thrift, tasks)
                tasks.create_task(self.worker.run())
        except* MachineError as errors:
            self.fail(errors)

    async def _serve(
        self, worker: Worker, consistency: Consistency, tasks: asyncio.TaskGroup
    ) -> None:
        """Starts the servers, as `worker_application` does."""
        peers = Peers(_SECRET, worker.settings.address)
        epochs = EpochWatch(
            lambda: worker.topic,
            lambda: [shard.position.epoch for shard in worker.shards.values() if shard.live],
        )
        tasks.create_task(epochs.run())
        shards = WorkerShards(worker, "http", epochs)
        backend = self.backend = Backend(shards, SimulatedPrimary(self._database))
        app = create_app(backend, Settings(peers=peers))
        tasks.create_task(ReadServer(app, self.name, HTTP_PORT).serve())

        def known_thrift_of(shard: int) -> Address | None:
            url = shards.owner_url(shard)
            return None if url is None else (url.partition("://")[2].split(":")[0], THRIFT_PORT)

        async def thrift_of(shard: int) -> Address | None:
            return known_thrift_of(shard)

        thrift = ThriftServer(
            CachedMethods(backend, Defaults(consistency), WAREHOUSE),
            backend,
            upstream=UpstreamSettings(self._metastores),
            owner_of=thrift_of,
            known_owner_of=known_thrift_of,
            peers=peers,
            host=self.name,
        )
        await thrift.start(self.name, THRIFT_PORT)
