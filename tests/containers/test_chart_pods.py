"""The pods of the Helm chart's smallest example, run and drained on a Docker engine."""

import json
import secrets
import threading
import time
from collections.abc import Iterator

import psycopg
import pytest
import yaml

from metatide.config.kafka import Kafka
from tests.containers.chart_pods import PATIENCE_S, Cluster, Pod
from tests.containers.engine import Engine
from tests.deploy.helm import CHART, ROOT, rendered
from tests.query_api.sales import ORDERS, sales
from tests.support.processes import open_folder

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

TABLE = f"/v1/databases/{ORDERS.db}/tables/{ORDERS.table}"
IMAGE = f"metatide:{yaml.safe_load((CHART / 'Chart.yaml').read_text())['appVersion']}"
NETWORK = "chart"
SHARDS = Kafka().partitions
COMPOSE = yaml.safe_load((ROOT / "compose" / "compose.yaml").read_text())["services"]


@pytest.fixture(scope="module")
def pods(engine: Engine) -> Iterator[list[Pod]]:
    """Those of the example, with the brokers and the database that it names."""
    password = secrets.token_hex(16)
    engine.docker("build", "--quiet", "--tag", IMAGE, ROOT)
    engine.docker("network", "create", NETWORK)
    database = {"POSTGRES_DB": "metastore", "POSTGRES_USER": "metatide"}
    started = [
        run(engine, "kafka", COMPOSE["kafka"]["environment"]),
        run(engine, "postgres", database | {"POSTGRES_PASSWORD": password}),
    ]
    url = f"postgresql://metatide:{password}@{address(engine, 'postgres')}:5432/metastore"
    wait_for_database(url)
    sales(url)
    held = {"metatide-database/password": password, "metatide-workers/secret": "tide" * 8}
    with open_folder() as folder:
        cluster = Cluster(engine, NETWORK, folder, held)
        running = [*cluster.pods(rendered(CHART / "examples" / "small.yaml"))]
        yield running
        engine.docker("rm", "--force", "--volumes", *started, *(pod.name for pod in running))
        engine.docker("network", "rm", NETWORK)


def run(engine: Engine, name: str, settings: dict[str, str]) -> str:
    variables = [f"--env={variable}={value}" for variable, value in settings.items()]
    image = COMPOSE[name]["image"]
    where = [f"--network={NETWORK}", f"--network-alias={name}", f"--name=chart-{name}"]
    engine.docker("run", "--detach", *where, *variables, image)
    return f"chart-{name}"


def address(engine: Engine, name: str) -> str:
    [shown] = engine.inspect(f"chart-{name}")
    found: str = shown["NetworkSettings"]["Networks"][NETWORK]["IPAddress"]
    return found


def wait_for_database(url: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            psycopg.connect(url).close()
            return
        except psycopg.OperationalError:
            assert time.monotonic() < deadline
            time.sleep(0.2)


class Reader(threading.Thread):
    """Reads from a worker until it is told to end."""

    def __init__(self, worker: Pod) -> None:
        super().__init__(daemon=True)
        self.statuses: list[int] = []
        self._worker = worker
        self._ended = threading.Event()

    def run(self) -> None:
        while not self._ended.is_set():
            self.statuses.append(self._worker.get(TABLE)[0])

    def end(self) -> None:
        self._ended.set()
        self.join()


def test_they_start_and_are_drained_while_others_answer(pods: list[Pod]) -> None:
    for pod in pods:
        for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
            pod.until_passes(probe)
    connectors = [pod for pod in pods if pod.container["name"] == "connector"]
    workers = [pod for pod in pods if pod.container["name"] == "worker"]
    assert (len(connectors), len(workers)) == (2, 2)
    # By the names that they advertise.
    members = printed_by(workers[0], "metatide", "status", "--json")
    assert {worker.name for worker in workers} <= words(members)
    assert all(f"{worker.name}.tide-metatide-worker-members.data" in members for worker in workers)
    for worker in workers:
        until_cached(worker)
    first, second = workers
    reader = Reader(second)
    reader.start()
    assert first.drain() == 0, first.log
    until_has_shards(second, SHARDS)
    until_cached(second)
    first.engine.docker("start", first.name)
    for worker in workers:
        until_has_shards(worker, SHARDS // 2)
    reader.end()
    assert {*reader.statuses} == {200}
    assert connectors[0].drain() == 0, connectors[0].log
    assert connectors[1].passes("readinessProbe")


def printed_by(pod: Pod, *command: str) -> str:
    """What a command prints, whose exit status says how late the cache is."""
    return pod.engine.attempt("exec", pod.name, *command).stdout


def words(text: str) -> set[str]:
    return {*text.replace('"', " ").split()}


def until_has_shards(worker: Pod, count: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while True:
        status, answer = worker.get("/readyz")
        if status == 200 and len(json.loads(answer.partition("\n\n")[2])["shards"]) == count:
            return
        assert time.monotonic() < deadline, answer
        time.sleep(0.2)


def until_cached(worker: Pod) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while "metatide-source: cache" not in worker.get(TABLE)[1].lower():
        assert time.monotonic() < deadline, worker.log
        time.sleep(0.1)
