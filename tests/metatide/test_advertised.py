"""The addresses that processes tell others."""

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from click.testing import CliRunner

from connectors import topic_admin
from hive.errors import InputError
from metatide.advertised import joined, reachable, worker_host
from metatide.cli import root
from metatide.cli.work import _settings
from metatide.config import Config, load
from metatide.members import members
from metatide.worker.read_settings import own_names
from tests.connectors.connector_runs import new_topic
from tests.support.workers import WorkerProcess, workers

BROKERS = "127.0.0.1:9092,other.invalid:9092"


def config(**worker: str) -> Config:
    variables = {f"METATIDE_WORKER_{name.upper()}": value for name, value in worker.items()}
    return load(environ={"METATIDE_KAFKA_BOOTSTRAP_SERVERS": BROKERS, **variables}).config


@pytest.mark.parametrize(
    ("worker", "address"),
    [
        ({}, "127.0.0.1:8091"),
        ({"host": "worker-1"}, "worker-1:8091"),
        ({"host": "0.0.0.0"}, "127.0.0.1:8091"),
        ({"host": "::"}, "127.0.0.1:8091"),
        ({"host": "0.0.0.0", "advertised_host": "w1.example.com"}, "w1.example.com:8091"),
        ({"advertised_host": "lb", "advertised_port": "443"}, "lb:443"),
        ({"host": "fd00::1"}, "[fd00::1]:8091"),
        ({"advertised_host": "W1.example.com"}, "w1.example.com:8091"),
    ],
)
def test_the_others_are_told_where_a_worker_can_be_reached(
    worker: Mapping[str, str], address: str
) -> None:
    assert _settings(config(**worker), 8091).address == address


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "0:0:0:0:0:0:0:0"])
def test_nobody_is_told_all_addresses(host: str) -> None:
    with pytest.raises(InputError, match=r"worker\.advertised_host"):
        worker_host(config(advertised_host=host))
    for brokers in (None, "", "nowhere.invalid:9092", "no port", BROKERS):
        assert reachable(host, brokers) not in ("", "0.0.0.0", "::", host)


def test_a_browser_may_ask_by_the_advertised_name() -> None:
    assert "w1.example.com" in own_names(config(advertised_host="w1.example.com"))


def test_addresses_with_colons_get_brackets() -> None:
    assert joined("fd00::1", 1) == "[fd00::1]:1"
    assert joined("h", 1) == "h:1"


def test_members_and_status_show_the_advertised_address(kafka_broker: str, tmp_path: Path) -> None:
    topic = new_topic(kafka_broker, 2)
    topic_admin.create(topic)
    worker = WorkerProcess(
        topic,
        tmp_path,
        "w1",
        METATIDE_WORKER_ADVERTISED_HOST="localhost",
        METATIDE_WORKER_ADVERTISED_PORT="1234",
    )
    with workers(worker):
        status = worker.until_ready(2)
        assert status["address"] == "localhost:1234"
        assert list(members(topic, topic.name)) == [("w1", "localhost:1234")]


def test_orders_are_taken_at_the_advertised_address(
    kafka_broker: str, tmp_path: Path, workers_secret: Path
) -> None:
    topic = new_topic(kafka_broker, 2)
    topic_admin.create(topic)
    # It leads to this machine, and isn't known as a name of it.
    worker = WorkerProcess(
        topic,
        tmp_path,
        "w1",
        METATIDE_WORKER_ADVERTISED_HOST="127.1",
        METATIDE_WORKER_SECRET_FILE=str(workers_secret),
    )
    command = ["status", "--content", "--kafka", topic.servers, "--data-dir", str(tmp_path)]
    without = {"METATIDE_KAFKA_TOPIC": topic.name}
    with workers(worker):
        worker.until_ready(2)
        refused = CliRunner().invoke(root, command, env=without)
        assert "only this machine may ask" in str(refused.exception)
        # There is no connector.
        shown = CliRunner().invoke(
            root, command, env=without | {"METATIDE_WORKER_SECRET_FILE": str(workers_secret)}
        )
    [status] = json.loads(shown.stdout)["workers"]
    assert [shard["content"]["tables_warm"] for shard in status["shards"]] == [0, 0]
