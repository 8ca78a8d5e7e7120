"""A standalone cluster of Spark: a master and two workers, processes of this machine."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import psutil
import pyspark
import pytest

from metatide.cli.digest import _digests
from metatide.spark.package_archive import archive
from metatide.stack.machine import LOOPBACK, free_port, is_free
from processors.replay.replay import rebuild
from state.image import Images
from state.store import MemoryBudget
from state.store.families import shard_identity
from state.topic import Topic
from tests.support.engines.spark_java import java_options
from tests.support.kafka.topics import log_records, new_topic, write
from tests.support.processes import die_with_parent

SHARDS = 6
BUDGET = MemoryBudget(32 << 20)
PATIENCE_S = 600
CLASS = Path(pyspark.__file__).parent / "bin" / "spark-class"
_IMPORT = "import sys; sys.path.insert(0, sys.argv[1]); import hive, {0}; print({0}.__file__)"


def test_the_archive_holds_all_that_tasks_import(tmp_path: Path) -> None:
    path = archive(tmp_path / "metatide.zip")
    for module in ("processors.spark.follow", "connectors.loads.spark.tasks"):
        command = [sys.executable, "-c", _IMPORT.format(module), str(path)]
        done = subprocess.run(command, cwd="/", capture_output=True, text=True, check=True)
        assert done.stdout.startswith(f"{path}/")


class Cluster:
    """Its address, and the folder in which its executors work."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self._environment = {
            **os.environ,
            "SPARK_LOCAL_IP": LOOPBACK,
            "SPARK_DAEMON_MEMORY": "256m",
            "PYSPARK_PYTHON": sys.executable,
            # The only options that executors take from their worker.
            "JDK_JAVA_OPTIONS": java_options(),
        }

    @property
    def address(self) -> str:
        return f"spark://{LOOPBACK}:{self.port}"

    @contextmanager
    def runs(self, name: str, main: str, *arguments: str) -> Iterator[None]:
        log = self.folder / f"{name}.log"
        with log.open("wb") as out:
            process = subprocess.Popen(
                [str(CLASS), f"org.apache.spark.deploy.{main}", "--host", LOOPBACK, *arguments],
                stdout=out,
                stderr=subprocess.STDOUT,
                env=self._environment,
                preexec_fn=die_with_parent(signal.SIGKILL),
            )
        try:
            yield
        finally:
            process.terminate()
            process.wait(PATIENCE_S)

    def start(self, topic: Topic, *arguments: str) -> "subprocess.Popen[bytes]":
        """A command of ours on this cluster."""
        environment = {
            **self._environment,
            "METATIDE_DATA_DIR": str(self.folder / "data"),
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": topic.servers,
            "METATIDE_KAFKA_TOPIC": topic.name,
            "METATIDE_IMAGES_URL": str(self.folder / "images"),
            "METATIDE_STATE_MEMORY_MIB": "32",
            "METATIDE_SPARK_MASTER": self.address,
        }
        return subprocess.Popen(
            [sys.executable, "-m", "metatide", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=environment,
            preexec_fn=die_with_parent(signal.SIGKILL),
        )

    def executors(self) -> list[psutil.Process]:
        """Those whose application's folder is ours."""
        processes = []
        for process in psutil.process_iter():
            try:
                line = process.cmdline()
                if "CoarseGrainedExecutorBackend" in " ".join(line) and process.cwd().startswith(
                    str(self.folder)
                ):
                    processes.append(process)
            except (psutil.NoSuchProcess, psutil.ZombieProcess):
                continue
        return processes


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    made = Cluster(tmp_path)
    with ExitStack() as stack:
        ports = ("--port", str(made.port), "--webui-port", "0")
        stack.enter_context(made.runs("master", "master.Master", *ports))
        deadline = time.monotonic() + PATIENCE_S
        while is_free(made.port):
            assert time.monotonic() < deadline, (tmp_path / "master.log").read_text()
            time.sleep(0.1)
        for number in range(2):
            room = ("--cores", "1", "--memory", "1g", "--webui-port", "0")
            work = ("--work-dir", str(tmp_path / f"work-{number}"))
            stack.enter_context(
                made.runs(f"worker-{number}", "worker.Worker", *room, *work, made.address)
            )
        yield made


@pytest.mark.spark
@pytest.mark.timeout(3_000)
@pytest.mark.by_turns(4, of="Spark")
def test_a_killed_executor_doesn_t_matter(kafka_broker: str, cluster: Cluster) -> None:
    topic = new_topic(kafka_broker, SHARDS)
    records = log_records("one-writer", SHARDS)
    half = {shard: found[: len(found) // 2] for shard, found in records.items()}
    rest = {shard: found[len(found) // 2 :] for shard, found in records.items()}
    for some, command in ((half, ("rebuild", "--engine", "spark")), (rest, ("image", "once"))):
        write(topic, some)
        process = cluster.start(topic, *command)
        deadline = time.monotonic() + PATIENCE_S
        while len(executors := cluster.executors()) < 2:
            assert time.monotonic() < deadline
            assert process.poll() is None, process.communicate()
            time.sleep(0.1)
        executors[0].kill()
        _, err = process.communicate(timeout=PATIENCE_S)
        assert process.returncode == 0, err.decode()
    images = Images(str(cluster.folder / "images"), BUDGET)
    for shard in range(SHARDS):
        restored, replayed = (cluster.folder / f"{name}-{shard}" for name in ("image", "replay"))
        assert images.restore_newest(shard_identity(topic, shard), restored)
        rebuild(topic, shard, replayed, BUDGET)
        assert _digests(restored) == _digests(replayed)
