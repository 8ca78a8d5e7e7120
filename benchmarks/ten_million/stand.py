"""A database and a broker that keep their data between pieces, and Metatide's commands on them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from benchmarks.ten_million.catalog import Catalog
from connectors import topic_admin
from metatide.stack.kafka import Kafka
from metatide.stack.ports import Ports
from metatide.stack.postgres import Postgres
from state.topic import Topic, TopicClient
from tests.support.processes import die_with_parent, running
from tests.support.workers import WorkerProcess

SHARDS: Final = 16
PATIENCE_S: Final = 590.0
DATABASE: Final = {
    "jit": "off",
    "shared_buffers": "512MB",
    "max_wal_size": "4GB",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
    # Nothing is written but by the pieces, and one of them vacuums.
    "autovacuum": "off",
}
"""No data needs to survive a crash of the machine."""


class Done(NamedTuple):
    """How long a command took, and the lines that it printed."""

    seconds: float
    lines: list[str]

    ended: bool
    """Whether it came to its end before its time was over."""

    @property
    def last(self) -> dict[str, Any]:
        """Its last line, which is JSON."""
        line: dict[str, Any] = json.loads(self.lines[-1])
        return line


class Stand:
    """What the pieces share: a catalog, its database, a broker, and a folder."""

    def __init__(self, folder: Path, catalog: Catalog, database: Postgres, broker: Kafka) -> None:
        self.folder = folder
        self.catalog = catalog
        self.url = database.url().render_as_string(hide_password=False)
        self._servers = broker.address

    def topic(self, name: str) -> Topic:
        """A topic, which is created if it doesn't exist."""
        topic = Topic(self._servers, name, SHARDS)
        topic_admin.create(topic)
        return TopicClient(self._servers, name).describe()

    def ends(self, topic: Topic) -> dict[int, int]:
        return dict(TopicClient(topic.servers, topic.name).ends(range(SHARDS)))

    def data_dir(self, name: str) -> Path:
        """The data folder of a worker and of commands."""
        path = self.folder / "data" / name
        path.mkdir(parents=True, exist_ok=True)
        return path

    def empty_data_dir(self, name: str) -> Path:
        shutil.rmtree(self.folder / "data" / name, ignore_errors=True)
        return self.data_dir(name)

    def images_url(self, name: str) -> str:
        return (self.folder / "images" / name).as_uri()

    def disk(self, name: str) -> Path:
        """Where a topic's records are, or those of all topics for an empty name."""
        return self.folder / "kafka" / "data" / name

    def command(self, topic: Topic, name: str, *arguments: str, **env: str) -> Done:
        """Runs a command to its end, with the data folder of this name."""
        done = self.command_within(PATIENCE_S, topic, name, *arguments, **env)
        assert done.ended, arguments
        return done

    def command_within(
        self, limit_s: float, topic: Topic, name: str, *arguments: str, **env: str
    ) -> Done:
        """Runs a command, and interrupts it after a time."""
        began, ended = time.perf_counter(), True
        process = self.start(topic, name, *arguments, **env)
        try:
            try:
                output, _ = process.communicate(timeout=limit_s)
            except subprocess.TimeoutExpired:
                ended = False
                process.send_signal(signal.SIGINT)
                output, _ = process.communicate(timeout=PATIENCE_S)
        finally:
            process.kill()
            process.wait()
        assert not ended or process.returncode == 0, (arguments, output[-2_000:])
        return Done(time.perf_counter() - began, output.splitlines(), ended)

    def start(
        self, topic: Topic, name: str, *arguments: str, **env: str
    ) -> "subprocess.Popen[str]":
        log = self.data_dir(name) / f"{arguments[0]}.log"
        with log.open("a") as errors:
            return subprocess.Popen(
                [sys.executable, "-m", "metatide", *arguments],
                env={**os.environ, **self._environment(topic, name), **env},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
                preexec_fn=die_with_parent(signal.SIGTERM),
            )

    @contextmanager
    def beside(self, topic: Topic, name: str, *arguments: str) -> Iterator[None]:
        """Runs a command for as long as the block takes; nobody reads what it prints."""
        process = self.start(topic, name, *arguments)
        assert process.stdout is not None
        process.stdout.close()
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_S)

    def worker(self, topic: Topic, name: str, **env: str) -> WorkerProcess:
        """A worker, which isn't started yet."""
        return WorkerProcess(
            topic,
            self.data_dir(name),
            "one",
            METATIDE_DATABASE_URL=self.url,
            METATIDE_WORKER_GROUP=name,
            **env,
        )

    def stores(self, name: str) -> Path:
        return self.data_dir(name) / "workers" / "one"

    def _environment(self, topic: Topic, name: str) -> dict[str, str]:
        return {
            "METATIDE_DATABASE_URL": self.url,
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": topic.servers,
            "METATIDE_KAFKA_TOPIC": topic.name,
            "METATIDE_KAFKA_PARTITIONS": str(SHARDS),
            "METATIDE_DATA_DIR": str(self.data_dir(name)),
            "METATIDE_WORKER_NAME": "one",
            "METATIDE_WORKER_GROUP": name,
        }


@contextmanager
def standing(
    folder: Path, catalog: Catalog, settings: Mapping[str, str] = DATABASE
) -> Iterator[Stand]:
    """Starts the database, with these settings, and the broker, and ends them."""
    folder.mkdir(parents=True, exist_ok=True)
    # PostgreSQL runs as another user, who must be able to enter the folder.
    folder.chmod(0o711)
    ports = Ports(folder / "ports.json")
    database = Postgres(folder / "postgres", ports, settings)
    broker = Kafka(folder / "kafka", ports, optimizes=True)
    with ExitStack() as stack:
        stack.enter_context(running(database, folder / "postgres.log"))
        stack.enter_context(running(broker, folder / "kafka.log"))
        yield Stand(folder, catalog, database, broker)
