"""Connectors that are frozen, cut off or ended, as workers and commands tell of them."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from metatide.cli import root
from metatide.demo.store import Store
from state.topic import Topic
from tests.connectors.connector_runs import new_topic
from tests.metatide.demo import workload_runs
from tests.support import local_http
from tests.support.processes import die_with_parent
from tests.support.workers import WorkerProcess, workers

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="stacks")]

SHARDS = 2
NOWHERE = "postgresql://nobody@127.0.0.1:1/nothing"
LIMITS = {"METATIDE_HEALTH_AMBER_S": "2", "METATIDE_HEALTH_RED_S": "10"}


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, SHARDS)


def variables(topic: Topic, url: str, folder: Path) -> dict[str, str]:
    return {
        "METATIDE_DATABASE_URL": url,
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": topic.servers,
        "METATIDE_KAFKA_TOPIC": topic.name,
        "METATIDE_KAFKA_PARTITIONS": str(topic.shards),
        "METATIDE_DATA_DIR": str(folder),
        **LIMITS,
    }


@contextmanager
def connector(
    variables: dict[str, str], name: str = "connector-1"
) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "metatide", "connect", "--connect-name", name],
        env={**os.environ, **variables},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        preexec_fn=die_with_parent(signal.SIGKILL),
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def run(*arguments: str, variables: dict[str, str]) -> Result:
    return CliRunner(catch_exceptions=False).invoke(root, arguments, env=variables)


def at_level(level: str) -> Callable[[dict[str, Any]], bool]:
    return lambda status: status["health"]["level"] == level


def is_well(status: dict[str, Any]) -> bool:
    health = status["health"]
    leads = sum(each["leads"] for each in health["connectors"])
    return bool(status["ready"]) and health["level"] == "green" and leads == SHARDS


def sample(page: str, name: str) -> float:
    [line] = [line for line in page.splitlines() if line.startswith(name)]
    return float(line.rpartition(" ")[2])


def test_a_frozen_connector_is_amber_and_then_red(
    new_database: Callable[[], str], topic: Topic, tmp_path: Path
) -> None:
    url = new_database()
    store = Store(url)
    workload_runs.write(store, 20)
    settings = variables(topic, url, tmp_path)
    worker = WorkerProcess(topic, tmp_path, "w1", **settings)
    with connector(settings) as frozen, workers(worker):
        health = worker.until(is_well)["health"]
        written = len(workload_runs.rows(store))
        [member] = health["connectors"]
        assert member["name"] == "connector-1"
        assert member["position"] == member["sequence"] == written
        assert run("status", variables=settings).exit_code == 0

        frozen.send_signal(signal.SIGSTOP)
        # Nothing is missing yet, but nobody would publish it.
        health = worker.until(at_level("amber"))["health"]
        assert health["missing_events"] == 0
        workload_runs.write(store, 5)
        missing = len(workload_runs.rows(store)) - written
        worker.until(lambda status: status["health"]["missing_events"] == missing)
        health = worker.until(
            lambda status: (status["health"]["missing_age_s"] or 0) > 10 and is_red(status)
        )["health"]
        assert any("missing for" in problem for problem in health["problems"])
        assert any("connector-1" in problem for problem in health["problems"])

        ready = worker.get("/readyz")
        assert ready is not None
        assert ready.status_code == 200, "its answers are right all the same"
        assert ready.json()["health"]["level"] == "red"
        page = local_http.get(f"http://127.0.0.1:{worker.port}/metrics").text
        assert sample(page, "metatide_missing_events ") == missing
        assert sample(page, "metatide_missing_age_seconds ") > 10
        assert sample(page, "metatide_connector_quiet_seconds{") > 10
        assert sample(page, 'metatide_age_limit_seconds{level="red"}') == 10
        done = run("status", variables=settings)
        assert done.exit_code == 4
        assert json.loads(done.stdout)["health"]["level"] == "red"
        [check] = [
            json.loads(line)
            for line in run("doctor", "--json", variables=settings).stdout.splitlines()
            if json.loads(line)["check"] == "connectors"
        ]
        assert check["status"] == "failed"
        assert f"at event {written} of {written + missing}," in check["detail"]

        frozen.send_signal(signal.SIGCONT)
        assert worker.until(is_well)["health"]["missing_events"] == 0
        frozen.terminate()
        assert frozen.wait(30) == 0
        worker.until(lambda status: status["health"]["connectors"] == [])


def is_red(status: dict[str, Any]) -> bool:
    return bool(status["health"]["level"] == "red")


def test_one_connector_of_two_that_is_cut_off_is_told_with_what_it_waits_for(
    new_database: Callable[[], str], topic: Topic, tmp_path: Path
) -> None:
    url = new_database()
    workload_runs.write(Store(url), 20)
    settings = variables(topic, url, tmp_path)
    worker = WorkerProcess(topic, tmp_path, "w1", **settings)
    cut_off = settings | {"METATIDE_DATABASE_URL": NOWHERE}
    with connector(settings), connector(cut_off, "connector-2"), workers(worker):
        status = worker.until(
            lambda status: (
                status["health"]["missing_events"] == 0
                and [each["level"] for each in status["health"]["connectors"]] == ["green", "red"]
            )
        )
        health = status["health"]
        assert health["level"] == "amber", "the other one publishes"
        [problem] = health["problems"]
        assert problem.startswith("connector-2 on ")
        assert "can't be read" in problem


def test_commands_tell_without_a_worker(
    new_database: Callable[[], str], topic: Topic, tmp_path: Path
) -> None:
    settings = variables(topic, new_database(), tmp_path)
    done = run("status", variables=settings)
    assert done.exit_code == 4
    assert json.loads(done.stdout)["health"]["connectors"] == []
