"""The edges of production code, and what takes their place while a simulation runs.

Everything between the edges runs unchanged. Outside of them are: threads and clocks, librdkafka,
Faust, RocksDB, the disk, SQL, and random ids.
"""

import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import lru_cache, partial
from pathlib import Path
from types import FunctionType, SimpleNamespace
from typing import Any, Final

import aiohttp.connector
import structlog
import uvicorn.server

import connectors.connector
import connectors.loads.batch
import connectors.loads.end_gate
import connectors.loads.loader
import connectors.loads.rereads
import connectors.loads.signals
import connectors.publish.producer
import connectors.topic_admin
import metatide.worker.epoch_watch
import processors.replay.bulk_replay
import processors.spark.build
import processors.worker.shard
import processors.worker.shard_images
import processors.worker.signals_producer
import processors.worker.worker
import query_api.database.fallback
import query_api.thrift.metastore.upstream
import state.topic.partitions
import state.topic.reader
import state.topic.settings
from connectors.loads.loader import UNEXPECTED, UNTAKEN
from processors.worker.limits import Limits
from query_api.elapsed import elapsed_s
from tests.simulation import database_reads, knobs, network, spark, stores
from tests.simulation.broker import Brokers
from tests.simulation.database import Database
from tests.simulation.images import ImageStorage, SimulatedImages
from tests.simulation.kafka_clients import SimulatedAdmin, SimulatedConsumer, SimulatedProducer
from tests.simulation.scheduler import Scheduler
from tests.simulation.stores import Disk
from tests.simulation.threads import SimulatedLock, threading_of, time_of
from tests.simulation.worker_group import SimulatedGroup

_OURS: Final = ("connectors.", "processors.", "query_api.", "state.", "hive.")
_CLOCKS: Final = {
    id(time.monotonic): "monotonic",
    id(elapsed_s): "monotonic",
    id(time.time): "time",
    id(time.perf_counter): "perf_counter",
    id(time.time_ns): "time_ns",
}
_THREADING: Final = {
    id(threading.Event): "Event",
    id(threading.local): "local",
}
_DATE: Final = "Tue, 14 Nov 2023 22:13:20 GMT"
_REPLACED: Final = {id(time), id(threading), *_CLOCKS, *_THREADING}


class Surroundings:
    """What one simulation puts in the place of the outside world."""

    def __init__(
        self,
        scheduler: Scheduler,
        brokers: Brokers,
        database: Database,
        disks: dict[str, Disk],
        turned_knobs: Mapping[str, float],
    ) -> None:
        self.scheduler = scheduler
        self._turned_knobs = turned_knobs
        self.brokers = brokers
        self.database = database
        self.disks = disks
        self._ids = scheduler.random("ids")
        self._images = ImageStorage(scheduler)

    def replacements(self) -> list[tuple[Any, str, object]]:
        brokers, scheduler = self.brokers, self.scheduler
        producer = lambda settings, **_: SimulatedProducer(brokers, settings)  # noqa: E731
        consumer = lambda settings, **_: SimulatedConsumer(brokers, settings)  # noqa: E731
        batch, rereads = connectors.loads.batch, connectors.loads.rereads
        database: Any = self.database
        return [
            *knobs.replacements(self._turned_knobs),
            # Nobody adds partitions here, or alters the topic's settings.
            (connectors.connector, "PartitionsWatch", lambda _: SimpleNamespace(look=lambda: None)),
            (connectors.topic_admin, "warn_of_loss", lambda _: None),
            (connectors.publish.producer, "Producer", producer),
            (connectors.publish.producer, "Consumer", consumer),
            (processors.worker.signals_producer, "Producer", producer),
            (state.topic.partitions, "Consumer", consumer),
            (state.topic.reader, "Consumer", consumer),
            (state.topic.settings, "AdminClient", lambda *_, **__: SimulatedAdmin(brokers)),
            (processors.worker.worker, "Group", partial(SimulatedGroup, brokers)),
            (processors.worker.worker, "WorkerDirectory", self._directory),
            (processors.worker.worker, "MemoryBudget", lambda _: SimpleNamespace(bytes=0)),
            (processors.worker.worker, "Limits", self._limits),
            (processors.worker.worker, "Images", partial(SimulatedImages, self._images)),
            (processors.worker.shard_images, "shutil", SimpleNamespace(rmtree=_leave)),
            (processors.worker.shard, "Store", partial(stores.SimulatedStore, scheduler)),
            (processors.worker.shard, "set_aside", stores.set_aside),
            (processors.replay.bulk_replay, "give_back_freed_memory", lambda: None),
            (processors.replay.bulk_replay, "Lock", lambda: SimulatedLock(scheduler)),
            (processors.spark.build, "scratch", spark.scratch),
            (processors.spark.build, "Store", partial(stores.SimulatedStore, scheduler)),
            (processors.spark.build, "Images", partial(SimulatedImages, self._images)),
            (processors.spark.build, "MemoryBudget", lambda _: SimpleNamespace(bytes=0)),
            (batch, "find_database", lambda _: batch.Database(database, self.database.version)),
            (batch, "_look_up", lambda *_: self.database.query(lambda _: set())),
            (batch, "open_snapshot", database_reads.open_snapshot),
            (batch, "read", database_reads.read_loads),
            (batch, "uuid", SimpleNamespace(uuid4=self._id)),
            (connectors.loads.end_gate, "read_event", database_reads.read_event),
            (connectors.loads.loader, "read_last_event", database_reads.read_last_event),
            (connectors.loads.end_gate, "read_last_event", database_reads.read_last_event),
            (rereads, "open_snapshot", database_reads.open_snapshot),
            (rereads, "_read", database_reads.reread),
            (
                connectors.loads.loader,
                "open_snapshot",
                lambda *_: database_reads.open_snapshot(self.database),
            ),
            (query_api.database.fallback, "DatabaseObjects", database_reads.objects_of),
            (aiohttp.connector, "aiohappyeyeballs", network.happy_eyeballs()),
            (metatide.worker.epoch_watch, "random", scheduler.random("epochs")),
            (query_api.thrift.metastore.upstream, "random", scheduler.random("upstreams")),
            (aiohttp.connector, "monotonic", time_of(scheduler).monotonic),
            (aiohttp.connector, "random", scheduler.random("connections")),
            (aiohttp.TCPConnector, "_resolve_host", network.resolve),
            (uvicorn.server, "formatdate", lambda *_, **__: _DATE),
        ]

    def _directory(self, path: Path) -> stores.SimulatedDirectory:
        return stores.SimulatedDirectory(self.disks[path.name], path)

    def _limits(self, path: Path, allowed: Any) -> Any:
        return _SimulatedLimits(self.disks[path.parent.name], path, allowed)

    def _id(self) -> SimpleNamespace:
        return SimpleNamespace(hex=f"{self._ids.getrandbits(128):032x}")


class _SimulatedLimits(Limits):
    """The limits of a worker, over a simulated disk."""

    def __init__(self, disk: Disk, path: Path, allowed: Any) -> None:
        super().__init__(path, allowed)
        self._disk = disk

    def _look(self) -> None:
        self.disk_free_bytes = self._disk.free_bytes


@contextmanager
def installed(around: Surroundings) -> Iterator[None]:
    """Production code runs in the simulation until the block ends."""
    replaced: list[tuple[Any, str, object]] = []

    def put(where: Any, name: str, value: object) -> None:
        replaced.append((where, name, getattr(where, name)))
        setattr(where, name, value)

    scheduler = around.scheduler
    stand_ins: dict[int, object] = {
        id(time): (clocks := time_of(scheduler)),
        id(threading): (threads := threading_of(scheduler)),
        **{real: getattr(clocks, name) for real, name in _CLOCKS.items()},
        **{real: getattr(threads, name) for real, name in _THREADING.items()},
    }
    for where, name, value in _uses_of_time(len(sys.modules)):
        if isinstance(value, tuple):
            put(where, name, tuple(stand_ins.get(id(each), each) for each in value))
        else:
            put(where, name, stand_ins[id(value)])
    for where, name, value in around.replacements():
        put(where, name, value)
    before = structlog.get_config()
    structlog.configure(
        processors=[partial(_tell, scheduler)],
        wrapper_class=structlog.make_filtering_bound_logger(30),
        logger_factory=structlog.ReturnLoggerFactory(),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.configure(**before)
        for where, name, value in reversed(replaced):
            setattr(where, name, value)


@lru_cache(maxsize=1)
def _uses_of_time(_modules: int) -> list[tuple[Any, str, object]]:
    """Where production code has a clock or a part of `threading`, which one, and by which name: in
    modules, and in tuples of defaults, for a clock may be the default of a parameter.

    It is looked for once, and again when modules have been imported.
    """
    uses: list[tuple[Any, str, object]] = []
    for module_name, module in sorted(sys.modules.items()):
        if not module_name.startswith(_OURS):
            continue
        for name, value in vars(module).items():
            if id(value) in _REPLACED:
                uses.append((module, name, value))
            elif isinstance(value, type) and value.__module__ == module.__name__:
                for method in vars(value).values():
                    if isinstance(method, FunctionType):
                        defaults = method.__defaults__ or ()
                        if any(id(default) in _CLOCKS for default in defaults):
                            uses.append((method, "__defaults__", defaults))
    return uses


def _leave(path: object, *, ignore_errors: bool) -> None:
    """Removes nothing: a simulated directory removes leftovers before it makes a store anew."""


def _tell(scheduler: Scheduler, _logger: Any, method: str, event: dict[str, Any]) -> str:
    """Warnings and errors of production code are part of the story."""
    what = event.pop("event")
    error = event.pop("exc_info", None)
    if what in (UNEXPECTED, UNTAKEN):
        scheduler.complaints.append(f"{what}: {error!r}")
    scheduler.note(f"{method}: {what} " + " ".join(f"{k}={v}" for k, v in event.items()))
    return ""
