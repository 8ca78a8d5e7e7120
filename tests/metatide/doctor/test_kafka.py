"""What the doctor says of a real broker."""

import itertools
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient
from confluent_kafka.cimpl import NewTopic

from metatide.doctor import CHECKS, Status, Target, examine, kafka
from metatide.stack import jars
from metatide.stack.kafka import Kafka
from metatide.stack.machine import LOOPBACK, free_port
from metatide.stack.ports import Ports
from tests.support.logins.certificates import Authority
from tests.support.logins.openssl import openssl
from tests.support.processes import open_folder, running
from tests.support.programs import system_program

LIBRARIES = "kafka", "kafka by workers", "kafka by Spark"
numbers = itertools.count()


def topic(broker: str, partitions: int = 2, settings: dict[str, str] | None = None) -> str:
    name = f"doctor-{os.getpid()}-{next(numbers)}"
    client = AdminClient({"bootstrap.servers": broker})
    client.create_topics([NewTopic(name, partitions, 1, config=settings or {})])[name].result(30)
    return name


def target(broker: str | None, topic_name: str = "nowhere") -> Target:
    return Target(broker, topic_name, 2, None, None)


def test_a_broker_that_answers_is_fine(kafka_broker: str) -> None:
    finding = kafka.reachable(target(kafka_broker))
    assert (finding.status, finding.detail) == (Status.OK, f"{kafka_broker}, 1 broker")
    by_workers = kafka.reachable_by_workers(target(kafka_broker))
    assert (by_workers.status, by_workers.detail) == (Status.OK, f"{kafka_broker}, by aiokafka")
    assert kafka.record_size(target(kafka_broker)).status is Status.OK


def test_what_a_broker_does_not_tell_is_no_matter_of_rights_alone(
    kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fault = KafkaException(KafkaError(KafkaError.CLUSTER_AUTHORIZATION_FAILED))

    def fail(*_: object) -> dict[str, str]:
        raise fault

    monkeypatch.setattr(kafka, "_settings", fail)
    size = [check for check in CHECKS if check.run is kafka.record_size]
    [refused] = examine(target(kafka_broker), [replace(size[0], needs=None)])
    assert refused.finding.status is Status.UNCHECKED
    fault = KafkaException(KafkaError(KafkaError.REQUEST_TIMED_OUT, "it took too long"))
    [failed] = examine(target(kafka_broker), [replace(size[0], needs=None)])
    assert failed.finding.status is Status.FAILED
    assert "it took too long" in failed.finding.detail


class Misnamed(Kafka):
    """A broker that answers where it is asked, but sends clients elsewhere."""

    def _write_config(self, path: Path, data: Path) -> Path:
        with super()._write_config(path, data).open("a") as file:
            # The last line of a key counts.
            file.write(f"advertised.listeners=PLAINTEXT://{LOOPBACK}:1\n")
        return path


def test_a_broker_by_whose_own_name_nobody_gets_there_is_told() -> None:
    with open_folder() as folder:
        misnamed = Misnamed(folder / "kafka", Ports(folder / "ports.json"))
        with running(misnamed, folder / "log"):
            finding = kafka.reachable(target(misnamed.address))
            assert finding.status is Status.FAILED
            assert finding.detail == (
                f"{misnamed.address} answers, but it calls a broker {LOOPBACK}:1, which can't be "
                "reached: Connection refused"
            )
            assert "advertised.listeners" in (finding.remedy or "")
            # A broker may also be frozen in the middle of the checks.
            size = [check for check in CHECKS if check.run is kafka.record_size]
            [late] = examine(target(misnamed.address), [replace(size[0], needs=None)])
    assert late.finding.status is Status.FAILED
    assert "Timed out" in late.finding.detail


def test_so_is_one_to_which_librdkafka_has_turned_already() -> None:
    servers = "10.0.0.7:9092, [fd00::7]:9092"
    refused = "Connect to ipv4#… failed: Connection refused (after 0ms in state CONNECT)"
    for text, addresses in (
        (f"127.0.0.1:1/1: {refused}", [(LOOPBACK, 1)]),
        (f"[::1]:1/12: {refused}", [("::1", 1)]),
        (f"kafka-0.kafka.svc:9092/0: {refused}", [("kafka-0.kafka.svc", 9092)]),
        (f"10.0.0.7:9092/1: {refused}", []),
        (f"[fd00::7]:9092/2: {refused}", []),
        (f"0.0.0.7:9092/2: {refused}", [("0.0.0.7", 9092)]),
        (f"10.0.0.8:9092/bootstrap: {refused}", []),
        ("", []),
    ):
        assert kafka._named_in(text, servers) == addresses


def test_spark_needs_its_own_jars(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(jars, "path_of", lambda name: tmp_path / name)
    secured = replace(target("127.0.0.1:1"), security={"security.protocol": "ssl"})
    finding = kafka.reachable_by_spark(secured)
    assert finding.status is Status.UNCHECKED
    assert finding.remedy == ("if Spark shall read them: python -m metatide.stack.jars fetch spark")


def test_a_broker_that_does_not_answer_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka, "TIMEOUT_S", 0.3)
    address = f"{LOOPBACK}:{free_port()}"
    for check, library in (
        (kafka.reachable, "librdkafka"),
        (kafka.reachable_by_workers, "aiokafka"),
    ):
        finding = check(target(address))
        assert finding.status is Status.FAILED
        assert finding.detail.startswith(f"{address} doesn't answer {library}")
    assert kafka.reachable(target(None)).status is Status.FAILED
    assert kafka.reachable_by_workers(target(None)).status is Status.UNCHECKED
    assert kafka.reachable_by_spark(target(None)).status is Status.UNCHECKED


def test_a_file_that_can_not_be_used_is_told_for_each_library(
    kafka_broker: str, tmp_path: Path
) -> None:
    jars.fetch("spark")
    missing = {"security.protocol": "ssl", "ssl.ca.location": str(tmp_path / "none.pem")}
    checks = [check for check in CHECKS if check.name in LIBRARIES]
    for result in examine(replace(target(kafka_broker), security=missing), checks):
        assert result.finding.status is Status.FAILED
        assert re.search("ssl.ca.location failed|No such file", result.finding.detail)


def test_a_locked_key_is_told_without_asking_for_its_password(
    kafka_broker: str, tmp_path: Path
) -> None:
    certificate, key = Authority(tmp_path / "authority").sign("client")
    locked = tmp_path / "locked.key"
    openssl("pkcs8", "-topk8", "-in", key, "-passout", "pass:hush-hush", "-out", locked)
    environ = {
        "BOOTSTRAP_SERVERS": kafka_broker,
        "SECURITY_PROTOCOL": "ssl",
        "SSL_CERTIFICATE_LOCATION": str(certificate),
        "SSL_KEY_LOCATION": str(locked),
    }
    # On a terminal that is the session's own, OpenSSL asks.
    done = subprocess.run(
        [system_program("script"), "-qec", f"{sys.executable} -m metatide doctor", "/dev/null"],
        env={**os.environ, **{f"METATIDE_KAFKA_{name}": text for name, text in environ.items()}},
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=100,
    )
    assert done.returncode == 1
    assert "aiokafka, by which workers follow, can't be set up" in " ".join(done.stdout.split())
    assert "pass phrase" not in done.stdout


def test_a_broker_is_talked_to_as_the_configuration_says(
    kafka_broker: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kafka, "TIMEOUT_S", 2.0)
    guarded = replace(target(kafka_broker), security={"security.protocol": "ssl"})
    # It talks plaintext only.
    assert kafka.reachable(guarded).status is Status.FAILED


def test_a_topic_yet_to_come_is_not_checked(kafka_broker: str) -> None:
    assert kafka.topic(target(kafka_broker)).status is Status.UNCHECKED


def test_a_topic_that_keeps_everything_is_fine(kafka_broker: str) -> None:
    finding = kafka.topic(target(kafka_broker, topic(kafka_broker)))
    assert finding.status is Status.OK, finding


@pytest.mark.parametrize(
    ("settings", "detail", "remedy"),
    [
        ({"retention.ms": "1000"}, "retention.ms=1000", "--add-config retention.ms=-1"),
        ({"retention.bytes": "1000"}, "retention.bytes=1000", "retention.bytes=-1"),
        ({"cleanup.policy": "compact"}, "cleanup.policy=compact", "cleanup.policy=delete"),
        ({"max.message.bytes": "1000"}, "is 1,000", "set it to 1000000 or more"),
    ],
)
def test_a_topic_that_loses_records_is_refused(
    kafka_broker: str, settings: dict[str, str], detail: str, remedy: str
) -> None:
    finding = kafka.topic(target(kafka_broker, topic(kafka_broker, settings=settings)))
    assert finding.status is Status.FAILED
    assert detail in finding.detail
    assert finding.remedy is not None
    assert remedy in finding.remedy


def test_another_number_of_partitions_is_refused(kafka_broker: str) -> None:
    finding = kafka.topic(target(kafka_broker, topic(kafka_broker, partitions=3)))
    assert finding.status is Status.FAILED
    assert finding.remedy == (
        "stop all connectors, then set kafka.partitions = 3: a shard cannot be split"
    )


@pytest.mark.parametrize(
    ("copies", "brokers", "in_sync_min", "detail", "remedy"),
    [
        (1, 3, 1, "one of 3 brokers alone has each record", "to 3 brokers each"),
        (1, 2, 1, "one of 2 brokers alone has each record", "to 2 brokers each"),
        (3, 3, 3, "while one of its 3 replicas is away", "min.insync.replicas=2"),
        (2, 3, 2, "while one of its 2 replicas is away", "min.insync.replicas=1"),
    ],
)
def test_a_topic_that_one_broker_takes_with_it_is_told(
    copies: int, brokers: int, in_sync_min: int, detail: str, remedy: str
) -> None:
    finding = kafka.judged_copies("tide", copies, brokers, in_sync_min)
    assert finding is not None
    assert finding.status is Status.FAILED
    assert detail in finding.detail
    assert finding.remedy is not None
    assert remedy in finding.remedy


@pytest.mark.parametrize(("copies", "brokers", "in_sync_min"), [(1, 1, 1), (3, 3, 2), (2, 3, 1)])
def test_a_topic_with_copies_is_fine(copies: int, brokers: int, in_sync_min: int) -> None:
    assert kafka.judged_copies("tide", copies, brokers, in_sync_min) is None
