"""A Kafka broker for the tests."""

import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from metatide.stack.kafka import MESSAGE_BYTES_MAX, Kafka, KafkaProbe
from metatide.stack.machine import LOOPBACK, free_port
from metatide.stack.ports import Ports
from tests.support.containers import container_at, use_containers
from tests.support.processes import open_folder, running

_IMAGE = "apache/kafka:4.1.2"
_START_TIMEOUT_S = 120.0


@contextmanager
def broker() -> Iterator[str]:
    """Runs a broker; yields its bootstrap address."""
    with _container() if use_containers() else _local() as address:
        yield address


@contextmanager
def _local() -> Iterator[str]:
    with open_folder() as folder:
        kafka = Kafka(folder / "kafka", Ports(folder / "ports.json"))
        with running(kafka, folder / "log"):
            yield kafka.address


@contextmanager
def _container() -> Iterator[str]:
    port = free_port()
    settings = {
        "KAFKA_NODE_ID": "1",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9093",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_LISTENERS": "PLAINTEXT://:9092,CONTROLLER://:9093",
        "KAFKA_ADVERTISED_LISTENERS": f"PLAINTEXT://{LOOPBACK}:{port}",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_AUTO_CREATE_TOPICS_ENABLE": "false",
        "KAFKA_LOG_RETENTION_MS": "-1",
        "KAFKA_MESSAGE_MAX_BYTES": str(MESSAGE_BYTES_MAX),
        "KAFKA_REPLICA_FETCH_MAX_BYTES": str(MESSAGE_BYTES_MAX),
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_SHARE_COORDINATOR_STATE_TOPIC_MIN_ISR": "1",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    }
    container = container_at(port, _IMAGE, 9092)
    for key, value in settings.items():
        container = container.with_env(key, value)
    with container:
        address = f"{LOOPBACK}:{port}"
        deadline = time.monotonic() + _START_TIMEOUT_S
        while KafkaProbe(address).fault() is not None:
            assert time.monotonic() < deadline, f"{_IMAGE} does not answer at {address}"
        yield address


class MortalBroker:
    """A test's own broker, which may be killed and started again at the same address."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._kafka = Kafka(folder / "kafka", Ports(folder / "ports.json"))
        # It starts while workers are looking for it.
        self._kafka.start_timeout_s = 4 * Kafka.start_timeout_s
        self._running = ExitStack()
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        return self._kafka.address

    def start(self) -> None:
        self._process = self._running.enter_context(running(self._kafka, self._folder / "log"))

    def kill(self) -> None:
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    @contextmanager
    def forgetting(self) -> Iterator[None]:
        """What the broker takes within the block, it has lost afterwards, as a leader has that was
        behind the one before."""
        data, copy = self._folder / "kafka" / "data", self._folder / "kept"
        self.kill()
        shutil.copytree(data, copy)
        self.start()
        yield
        self.kill()
        shutil.rmtree(data)
        copy.rename(data)
        self.start()

    def damage(self, topic: str, shard: int, text: bytes) -> None:
        """Changes a byte of the log where this text stands, as a failing disk does."""
        [segment] = (self._folder / "kafka" / "data").glob(f"{topic}-{shard}/*.log")
        at = segment.read_bytes().index(text)
        with segment.open("r+b") as log:
            log.seek(at)
            log.write(bytes((text[0] ^ 1,)))

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """Freezes the broker: its connections stay open, but it doesn't answer."""
        assert self._process is not None
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def end(self) -> None:
        self._running.close()


@contextmanager
def mortal_broker() -> Iterator[MortalBroker]:
    """Runs a broker as a process of this machine, because the tests kill it."""
    with open_folder() as folder:
        broker = MortalBroker(folder)
        broker.start()
        try:
            yield broker
        finally:
            broker.end()
