"""What is said of the way to the brokers is what a real broker hears from all three libraries."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from pyspark.sql import SparkSession

from connectors.log.last_event import LastEvent
from metatide.config import load
from metatide.config.properties import LACKING
from metatide.doctor import Status, Target, kafka
from metatide.stack import jars
from metatide.stack.kafka import Kafka
from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from processors.spark.kafka_source import source_options
from state.topic import Topic, TopicReader
from state.topic.properties import EQUALS
from tests.connectors.connector_runs import reset_now
from tests.support.hive.recorder import Recorder, recording
from tests.support.kafka.topics import new_topic
from tests.support.processes import open_folder, running
from tests.support.workers import WorkerProcess, workers

RACK = "rack-of-the-test"
PROPERTIES = (
    f"client.rack={RACK},connections.max.idle.ms=60000,topic.metadata.refresh.interval.ms=60000"
)
SHARDS = 2


class RecordedKafka(Kafka):
    """A broker that is reached through a recorder."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder / "kafka", Ports(folder / "ports.json"))
        self.advertised = ""

    def _write_config(self, path: Path, data: Path) -> Path:
        with super()._write_config(path, data).open("a") as file:
            # The last line of a key counts.
            file.write(f"advertised.listeners=PLAINTEXT://{self.advertised}\n")
        return path


@pytest.fixture(scope="module")
def recorder() -> Iterator[Recorder]:
    with open_folder() as folder:
        broker = RecordedKafka(folder)
        with recording(f"thrift://{broker.address}") as started:
            broker.advertised = urlsplit(started.address).netloc
            with running(broker, folder / "log"):
                yield started


@pytest.fixture(scope="module")
def topic(recorder: Recorder) -> Topic:
    """A topic with a record in each partition."""
    security = load(environ={"METATIDE_KAFKA_PROPERTIES": PROPERTIES}).config.kafka.security
    servers = urlsplit(recorder.address).netloc
    created = new_topic(servers, SHARDS)
    reset_now(created, 1, LastEvent(0), range(SHARDS))
    return Topic(servers, created.name, SHARDS, security, created.id)


def told(recorder: Recorder, client: str) -> bool:
    """Whether a client of this name has told its rack."""
    return any(RACK.encode() in sent and client.encode() in sent for sent in recorder.sent)


def test_a_worker_tells_its_rack_by_both_of_its_libraries(
    recorder: Recorder, topic: Topic, tmp_path: Path
) -> None:
    assert not told(recorder, "")
    with TopicReader(topic) as reader:
        assert sum(map(len, reader.read(0, 0, 1))) == 1
    assert told(recorder, "rdkafka")
    worker = WorkerProcess(topic, tmp_path, "racked", METATIDE_KAFKA_PROPERTIES=PROPERTIES)
    with workers(worker):
        worker.until_ready(SHARDS)
        assert told(recorder, f"racked@{LOOPBACK}:{worker.port}")


def test_the_doctor_tries_all_three(topic: Topic) -> None:
    jars.fetch("spark")
    target = Target(topic.servers, topic.name, SHARDS, None, None, security=topic.security)
    for check in (kafka.reachable, kafka.reachable_by_workers, kafka.reachable_by_spark):
        assert check(target).status is Status.OK


@pytest.mark.spark
def test_spark_tells_its_rack(recorder: Recorder, topic: Topic, kafka_spark: SparkSession) -> None:
    rows = kafka_spark.read.format("kafka").options(**source_options(topic)).load()
    assert rows.select("value").distinct().count() == 1
    assert told(recorder, "consumer-spark-kafka")


@pytest.mark.spark
def test_java_has_those_that_are_taken_and_lacks_what_is_said_so(kafka_spark: SparkSession) -> None:
    jvm: Any = kafka_spark._jvm
    names = set(jvm.org.apache.kafka.clients.consumer.ConsumerConfig.configNames())
    assert {equal.java for equal in EQUALS.values()} <= names
    lacking = {name for name, who in LACKING.items() if who.startswith("Kafka's Java")}
    # They are there by another meaning: see state.topic.properties, and names of other ciphers.
    assert lacking & names == {"metadata.max.age.ms", "ssl.cipher.suites"}
