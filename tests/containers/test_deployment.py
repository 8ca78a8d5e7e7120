"""The deployment of `compose/`, built and run: what docs/compose.md says, and that it recovers."""

import json
import shlex
from collections.abc import Mapping
from pathlib import Path

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families

from tests.containers.deployment import CORE, OURS, PAGE, Deployment
from tests.containers.engine import Engine
from tests.support.hive import hms_client
from tests.support.transcripts import commands

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

EXECUTE = "docker compose exec "
WORKERS = ("worker-1", "worker-2")
NO_CAPABILITY = f"{0:016x}"


@pytest.fixture(scope="module")
def table(deployment: Deployment) -> tuple[str, str]:
    """A table of the demo and its database; the cache has been loaded with all that there is."""
    size = ("--tables", "12", "--partitions", "200", "--events", "100", "--writers", "2")
    deployment.execute("worker-1", "metatide", "demo", "run", *size)
    deployment.execute("worker-1", "metatide", "prewarm")
    listed = deployment.get("worker-1", "/v1/databases").json()["databases"]
    for database in (each["name"] for each in listed if each["name"].startswith("demo")):
        tables = deployment.get("worker-1", f"/v1/databases/{database}/tables").json()["tables"]
        for each in tables:
            if each["tableType"] != "VIRTUAL_VIEW":
                return database, each["tableName"]
    raise AssertionError(f"no table in {listed}")


def until_fresh(deployment: Deployment, worker: str, table: tuple[str, str]) -> httpx.Response:
    """The worker's answer about the table, as soon as it comes from the cache."""
    answers: list[httpx.Response] = []

    def is_fresh() -> bool:
        answers.append(deployment.get(worker, "/v1/databases/{}/tables/{}".format(*table)))
        headers = answers[-1].headers
        return (headers.get("metatide-source"), headers.get("metatide-reason")) == (
            "cache",
            "fresh",
        )

    deployment.until(is_fresh, f"{worker} doesn't answer from the cache")
    return answers[-1]


def test_all_become_healthy(deployment: Deployment) -> None:
    assert set(deployment.containers()) == set(CORE)
    assert {name: deployment.health(name) for name in CORE} == dict.fromkeys(CORE, "healthy")


def test_the_page_can_be_followed(deployment: Deployment) -> None:
    lines = [command.text for command in commands(PAGE, PAGE.name)]
    starts = ["cd compose", "./make-secrets", "docker compose up --build --wait"]
    assert lines[: len(starts)] == starts
    followed = [line for line in lines if line.startswith(EXECUTE)]
    assert len(followed) > 4
    for line in followed:
        deployment.execute(*shlex.split(line.removeprefix(EXECUTE)))


def test_connector_and_workers_are_of_one_image(deployment: Deployment) -> None:
    assert len({deployment.containers()[name]["Image"] for name in OURS}) == 1


def test_the_doctor_is_content(deployment: Deployment) -> None:
    lines = deployment.execute("worker-1", "metatide", "doctor", "--json").splitlines()
    results = {line["check"]: line for line in map(json.loads, lines)}
    assert {line["status"] for line in results.values()} <= {"ok", "not checked"}
    assert results["listener"]["status"] == results["workers' secret"]["status"] == "ok"


@pytest.mark.parametrize("worker", WORKERS)
def test_reads_come_fresh_from_the_cache(
    deployment: Deployment, table: tuple[str, str], worker: str
) -> None:
    over_http = until_fresh(deployment, worker, table).json()
    address = f"thrift://{deployment.address(worker, thrift=True)}"
    with hms_client.connect(address) as client:
        answer = client.table(*table)
    assert answer.sd.location == over_http["sd"]["location"]
    families = text_string_to_metric_families(deployment.get(worker, "/metrics").text)
    [answers] = (family for family in families if family.name == "metatide_thrift_answers")
    assert {("cache", "fresh")} == {
        (sample.labels["source"], sample.labels["reason"])
        for sample in answers.samples
        if sample.labels["method"].startswith("get_table")
    }


def test_operators_are_heard(deployment: Deployment, table: tuple[str, str]) -> None:
    for order in ("pause", "resume"):
        deployment.execute("worker-1", "metatide", "admin", order)
        shown = json.loads(deployment.execute("worker-1", "metatide", "admin", "show", "--json"))
        assert {shard["paused"] for shard in shown} == {order == "pause"}
    deployment.execute("worker-2", "metatide", "audit", "--table", ".".join(table))


def test_the_demo_writes_into_the_warehouse(deployment: Deployment, table: tuple[str, str]) -> None:
    answer = until_fresh(deployment, "worker-1", table).json()
    assert answer["sd"]["location"].startswith("file:/opt/hive/data/warehouse/")


@pytest.mark.parametrize("service", CORE)
def test_what_is_killed_comes_back(
    deployment: Deployment, table: tuple[str, str], service: str
) -> None:
    deployment.kill(service)
    for worker in WORKERS:
        until_fresh(deployment, worker, table)


def test_volumes_outlive_the_containers(deployment: Deployment, table: tuple[str, str]) -> None:
    before = until_fresh(deployment, "worker-1", table).json()
    deployment.compose("down")
    assert deployment.containers() == {}
    deployment.up()
    assert until_fresh(deployment, "worker-1", table).json() == before


def test_no_password_is_shown(deployment: Deployment, table: tuple[str, str]) -> None:
    assert deployment.password not in deployment.logs()
    assert deployment.password not in deployment.shown()


@pytest.mark.parametrize("service", OURS)
def test_ours_have_no_rights(deployment: Deployment, service: str) -> None:
    for process in deployment.processes(service):
        status = status_of(process.pid)
        if process.name() != "docker-init":
            assert set(status["Uid"].split() + status["Gid"].split()) == {"10001"}
        assert status["CapEff"] == status["CapPrm"] == status["CapBnd"] == NO_CAPABILITY
        assert status["NoNewPrivs"] == "1"
    with pytest.raises(AssertionError, match="Read-only file system"):
        deployment.execute(service, "python", "-c", "open('/opt/metatide/x', 'w')")
    mode = "import os; print(oct(os.stat('/var/lib/metatide').st_mode & 0o777))"
    assert deployment.execute(service, "python", "-c", mode).strip() == "0o700"


def status_of(pid: int) -> Mapping[str, str]:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return {name: text.strip() for name, _, text in (line.partition(":") for line in lines)}


def test_prometheus_scrapes_all_of_ours(deployment: Deployment, engine: Engine) -> None:
    deployment.compose("--profile", "monitoring", "up", "--detach", "--wait", "prometheus")

    def targets() -> dict[str, str]:
        answer = deployment.get("prometheus", "/api/v1/targets").json()
        return {
            each["labels"]["instance"]: each["health"] for each in answer["data"]["activeTargets"]
        }

    wanted = dict.fromkeys((f"{name}:8080" for name in OURS), "up")
    deployment.until(
        lambda: targets() == {**wanted, "127.0.0.1:9090": "up"}, "not every target is up"
    )
    rules = deployment.get("prometheus", "/api/v1/rules").json()["data"]["groups"]
    assert all(rule["health"] in ("ok", "unknown") for group in rules for rule in group["rules"])
