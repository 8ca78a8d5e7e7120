"""The stack that is hurt: PostgreSQL, brokers, connectors, workers, and links between them."""

import json
import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
import psycopg
import sqlalchemy as sa

from connectors import topic_admin
from hive.errors import MetatideError
from metatide.stack.machine import LOOPBACK
from metatide.stack.metastore import Metastore, Settings
from metatide.stack.ports import Ports
from metatide.stack.postgres import Postgres
from metatide.stack.service import Launch
from processors.directory import WorkerDirectory, worker_path
from state.topic import Topic, TopicClient
from tests.support import local_http
from tests.support.links import Links
from tests.torture.brokers import BROKERS, CLIENTS, Brokers
from tests.torture.program import Program

SHARDS: Final = 4
TOPIC: Final = "torture"
WORKERS: Final = ("worker-1", "worker-2")
CONNECTORS: Final = ("connector-1", "connector-2")
DISK_MIB: Final = 512
PATIENCE_S: Final = 180.0
OUTPUT_LINES_MAX: Final = 100
_TEND_S: Final = 0.3
_CLOCK: Final = Path(__file__).parent / "clock"
# What has been committed survives the end of processes, but not that of the machine.
_DATABASE: Final = {"fsync": "off", "full_page_writes": "off"}


class Stand:
    """All processes of a run, in a folder."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.ports = folder, Ports(folder / "ports.json")
        self.links = Links()
        self._worker_ports: dict[str, int] = {}
        self.own_disk = os.geteuid() == 0
        """Whether the first worker has a small file system of its own."""

        self.brokers = Brokers(folder / "kafka", self.ports, self.links)
        self.postgres = Postgres(folder / "postgres", self.ports, _DATABASE)
        self.url = self.postgres.url()
        self.metastore = Metastore(
            folder / "metastore", self.ports, Settings(self.url, folder / "warehouse")
        )
        self._secret = folder / "secret"
        self._secret.write_text(secrets.token_urlsafe())
        self.ways: dict[tuple[str, str], list[tuple[int, int]]] = {}
        """The links between two programs, from one to the other."""

        for (client, broker), link in self.brokers.links.items():
            self.ways.setdefault((client, "brokers"), []).append(link)
            if client == "brokers":
                self.ways[f"broker-{broker}", "brokers"] = [link]
        del self.ways["brokers", "brokers"]
        for client in CLIENTS:
            self._link(client, "database", self.url.port or 0)
        for worker in WORKERS:
            self._link("workers", worker, self.port(worker))
        self.programs = {
            name: self._program(name, lambda argv=tuple(argv): Launch(argv))
            for name, argv in self.brokers.commands().items()
        }
        self.programs["database"] = self._program("database", self.postgres.prepare)
        self.programs["metastore"] = self._program("metastore", self.metastore.prepare)
        for name in CONNECTORS:
            self.programs[name] = self._metatide(name, "connect", METATIDE_CONNECT_NAME=name)
        for name in WORKERS:
            self._make_room(name)
            self.programs[name] = self.worker(name)
        self.programs["mix"] = self._metatide(
            "mix",
            *("demo", "run", "--tables", "12", "--partitions", "60", "--writers", "2"),
            *("--events-per-s", "5"),
        )
        self._read_to: dict[str, int] = {}
        self._ended = threading.Event()
        self._tending = threading.Thread(target=self._tend)

    def port(self, worker: str) -> int:
        """The port of a worker: a number that is taken stays so, while somebody listens there."""
        if worker not in self._worker_ports:
            self._worker_ports[worker] = self.ports.take(worker)
        return self._worker_ports[worker]

    def thrift_port(self, worker: str) -> int:
        return self.port(f"{worker}-thrift")

    def worker(self, name: str) -> Program:
        port = self.port(name)
        link = self.ways.get(("workers", name), [(port, port)])[0][0]
        return self._metatide(
            name,
            "work",
            METATIDE_WORKER_NAME=name,
            METATIDE_WORKER_PORT=str(port),
            METATIDE_WORKER_ADVERTISED_PORT=str(link),
            METATIDE_WORKER_SESSION_TIMEOUT_S="6",
            METATIDE_WORKER_DISK_FREE_MIN_MIB="8",
            METATIDE_WORKER_SECRET_FILE=str(self._secret),
            METATIDE_THRIFT_PORT=str(self.thrift_port(name)),
            METATIDE_UPSTREAM_URL=self.metastore.address,
        )

    def directory(self, worker: str) -> WorkerDirectory:
        return WorkerDirectory(worker_path(self.folder / worker, worker))

    def clock(self, name: str) -> Path:
        """The file with the seconds by which the clock of a program is wrong."""
        return self.folder / f"{name}.clock"

    def unexpected_output(self, last_words: str | None = None) -> list[str]:
        """What connectors and workers have printed since the last call beside entries of their
        logs and such last words: tracebacks and warnings.
        """
        lines = []
        for name in (*CONNECTORS, *WORKERS):
            with (self.folder / f"{name}.log").open(errors="replace") as log:
                log.seek(self._read_to.get(name, 0))
                lines += [f"{name}: {line.rstrip()}" for line in log if not line.startswith("{")]
                self._read_to[name] = log.tell()
        if last_words is not None:
            lines = [line for line in lines if last_words not in line]
        return lines[:OUTPUT_LINES_MAX]

    def topic(self) -> Topic:
        return TopicClient(self.brokers.addresses(), TOPIC).describe()

    def start(self) -> None:
        """Starts all, one after the other needs it; then each is started again when it ends."""
        for name in ("controller", *(f"broker-{broker}" for broker in BROKERS), "database"):
            self.programs[name].start()
        deadline = time.monotonic() + PATIENCE_S
        while not self.postgres.answers():
            assert time.monotonic() < deadline, "PostgreSQL doesn't answer"
            time.sleep(0.1)
        self.postgres.settle()
        while True:
            try:
                topic_admin.create(Topic(self.brokers.addresses(), TOPIC, SHARDS))
                break
            except MetatideError:
                assert time.monotonic() < deadline, "the brokers don't answer"
                time.sleep(0.5)
        for name in ("metastore", *CONNECTORS, *WORKERS, "mix"):
            self.programs[name].start()
        self._tending.start()
        while not self.metastore.answers():
            assert time.monotonic() < deadline, "the metastore doesn't answer"
            time.sleep(0.5)

    def end(self) -> None:
        self._ended.set()
        if self._tending.is_alive():
            self._tending.join()
        for program in self.programs.values():
            program.hold()
            program.kill()
        self.links.end()
        if self.own_disk:
            subprocess.run(["umount", "-l", self.folder / WORKERS[0]], check=False)

    def status(self, worker: str) -> dict[str, Any] | None:
        url = f"http://{LOOPBACK}:{self.port(worker)}/v1/status"
        try:
            status: dict[str, Any] = local_http.get(url, timeout=5).json()
        except (httpx.TransportError, json.JSONDecodeError):
            return None
        return status

    def change_links(self, way: tuple[str, str], **state: Any) -> None:
        for port, target in self.ways[way]:
            self.links.change(port, target, **state)

    @contextmanager
    def alone(self, database: str) -> Iterator[psycopg.Connection[tuple[object, ...]]]:
        """A connection to another database, while nobody can connect to this one."""
        url = self.url.set(drivername="postgresql", database="postgres")
        text = url.render_as_string(hide_password=False)
        with psycopg.connect(text, autocommit=True) as connection:
            connection.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS false')
            connection.execute(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s",
                [database],
            )
            try:
                yield connection
            finally:
                connection.execute(f'ALTER DATABASE "{database}" ALLOW_CONNECTIONS true')

    def _link(self, client: str, target: str, port: int) -> None:
        link = self.ports.take(f"{client}-{target}-link"), port
        self.links.change(*link)
        self.ways[client, target] = [link]

    def _database_url(self, client: str) -> sa.URL:
        way = self.ways.get((client, "database"))
        return self.url if way is None else self.url.set(port=way[0][0])

    def _metatide(self, name: str, *arguments: str, **environment: str) -> Program:
        servers = self.brokers.addresses(name if name in CLIENTS else "direct")
        common: Mapping[str, str] = {
            "METATIDE_DATABASE_URL": self._database_url(name).render_as_string(hide_password=False),
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": servers,
            "METATIDE_KAFKA_TOPIC": TOPIC,
            "METATIDE_KAFKA_PARTITIONS": str(SHARDS),
            "METATIDE_DATA_DIR": str(self.folder / name),
            "TORTURE_CLOCK": str(self.clock(name)),
            "PYTHONPATH": f"{_CLOCK}:{Path(__file__).parents[2]}",
        }
        (self.folder / name).mkdir(exist_ok=True)
        argv = (sys.executable, "-m", "metatide", *arguments)
        return self._program(name, lambda: Launch(argv, {**common, **environment}))

    def _program(self, name: str, launch: Any) -> Program:
        return Program(name, launch, self.folder / f"{name}.log")

    def _make_room(self, name: str) -> None:
        (self.folder / name).mkdir(exist_ok=True)
        if self.own_disk and name == WORKERS[0]:
            options = ["-o", f"size={DISK_MIB}m"]
            command = ["mount", "-t", "tmpfs", *options, "tmpfs", str(self.folder / name)]
            subprocess.run(command, check=True)

    def _tend(self) -> None:
        while not self._ended.wait(_TEND_S):
            for program in list(self.programs.values()):
                program.tend()
