"""The pods of the Helm chart's smallest example, run and drained on a Docker engine."""

import json
import secrets
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from pathlib import Path

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
NEXT = "metatide:next"
EXAMPLES_FOLDER = CHART / "examples"
SMALL = EXAMPLES_FOLDER / "small.yaml"
BUILD = ("build", "--quiet", "--tag", NEXT, "-")
NETWORK = "chart"
READERS = 2
SHARDS = Kafka().partitions
COMPOSE = yaml.safe_load((ROOT / "compose" / "compose.yaml").read_text())["services"]


@dataclass
class Site:
    """The pods of the example, as they are now."""

    cluster: Cluster
    connectors: list[Pod]
    workers: list[Pod]

    @property
    def pods(self) -> list[Pod]:
        return self.connectors + self.workers


@pytest.fixture(scope="module")
def site(engine: Engine, images: Mapping[str, str]) -> Iterator[Site]:
    """Those of the example, with the brokers and the database that it names."""
    password = secrets.token_hex(16)
    engine.docker("tag", images["metatide"], IMAGE)
    engine.docker("tag", images["spark"], f"{IMAGE}-spark")
    engine.docker("network", "create", NETWORK)
    database = {"POSTGRES_DB": "metastore", "POSTGRES_USER": "metatide"}
    started = [
        run(engine, "kafka", COMPOSE["kafka"]["environment"]),
        run(engine, "postgres", database | {"POSTGRES_PASSWORD": password}),
    ]
    url = f"postgresql://metatide:{password}@{address(engine, 'postgres')}:5432/metastore"
    wait_for_database(url)
    sales(url)
    secret_values = {"metatide-database/password": password, "metatide-workers/secret": "tide" * 8}
    with open_folder() as folder:
        cluster = Cluster(engine, NETWORK, folder, secret_values)
        pods = [*cluster.pods(rendered(SMALL))]
        roles: dict[str, list[Pod]] = {"connector": [], "worker": []}
        for pod in pods:
            roles[pod.container["name"]].append(pod)
        yield Site(cluster, roles["connector"], roles["worker"])
        engine.docker("rm", "--force", "--volumes", *started, *(pod.name for pod in pods))
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
    """Reads from workers in turn, and from the other one if one doesn't answer, until the end."""

    def __init__(self, workers: list[Pod]) -> None:
        super().__init__(daemon=True)
        self.statuses: Counter[int] = Counter()
        self.workers = workers
        """They are replaced meanwhile."""
        self._ended = threading.Event()

    def run(self) -> None:
        for turn in cycle((1, -1)):
            if self._ended.is_set():
                return
            first, second = self.workers[::turn]
            self.statuses[first.get(TABLE)[0] or second.get(TABLE)[0]] += 1

    def end(self) -> None:
        self._ended.set()
        self.join()


def test_they_pass_their_probes_and_find_each_other(site: Site) -> None:
    for pod in site.pods:
        until_well(pod)
    assert len(site.connectors) == len(site.workers) == 2
    # By the names that they advertise.
    members = printed_by(site.workers[0], "metatide", "status", "--json")
    names = [worker.name for worker in site.workers]
    assert {*names} <= words(members)
    assert all(f"{name}.tide-metatide-worker-members.data" in members for name in names)
    for worker in site.workers:
        until_cached(worker)


def test_no_read_fails_while_an_upgrade_replaces_all_of_them(site: Site, tmp_path: Path) -> None:
    """As Kubernetes does it: one by one, the last of a StatefulSet first, each with its volume."""
    engine, stores = site.workers[0].engine, [stores_of(worker) for worker in site.workers]
    # Its containers are new ones; the code is what there is.
    engine.feed(lambda stream: stream.write(f"FROM {IMAGE}\nLABEL next=yes\n".encode()), *BUILD)
    steps = (
        {"image": {"tag": "next"}, "connectors": {"imageTag": IMAGE.partition(":")[2]}},
        {"image": {"tag": "next"}},
    )
    workers_first, then_connectors = (
        rendered(SMALL, write_values(tmp_path / f"{number}.yaml", values))
        for number, values in enumerate(steps)
    )
    readers = [Reader(list(site.workers)) for _ in range(READERS)]
    for reader in readers:
        reader.start()
    for number in (1, 0):
        worker, other = site.workers[number], site.workers[1 - number]
        assert worker.drain() == 0, worker.log
        until_has_shards(other, SHARDS)
        until_cached(other)
        site.workers[number] = site.cluster.replace(worker, workers_first)
        for reader in readers:
            reader.workers = list(site.workers)
        until_well(site.workers[number])
        for each in site.workers:
            until_has_shards(each, SHARDS // 2)
    for number in (1, 0):
        connector, other = site.connectors[number], site.connectors[1 - number]
        assert connector.drain() == 0, connector.log
        assert other.passes("readinessProbe")
        site.connectors[number] = site.cluster.replace(connector, then_connectors)
        until_well(site.connectors[number])
    for reader in readers:
        reader.end()
        assert {*reader.statuses} == {200}
    assert sum(reader.statuses.total() for reader in readers) > 100
    for worker, before in zip(site.workers, stores, strict=True):
        until_cached(worker)
        assert stores_of(worker) == before
    for pod in site.pods:
        [shown] = engine.inspect(pod.name)
        assert shown["Config"]["Image"] == NEXT


def test_readers_answer_from_images_that_a_job_on_spark_made(site: Site, tmp_path: Path) -> None:
    values = yaml.safe_load((EXAMPLES_FOLDER / "images-only.yaml").read_text())
    values["spark"] = {"enabled": True}
    # The job and the readers of the example belong to different releases of the chart.
    [volume], [mount] = values["extraVolumes"], values["extraVolumeMounts"]
    volume["persistentVolumeClaim"]["readOnly"] = mount["readOnly"] = False
    objects = rendered(write_values(tmp_path / "values.yaml", values))
    job = site.cluster.job(objects)
    readers = [*site.cluster.pods(objects)]
    for reader in readers:
        until_well(reader)
        status, answer = reader.get(TABLE)
        assert (status, "metatide-source: cache" in answer.lower()) == (200, True), answer
    site.workers[0].engine.docker("rm", "--force", *(pod.name for pod in (job, *readers)))


def stores_of(worker: Pod) -> str:
    """What tells a worker's data folder from a new one."""
    code = "import os; print(os.stat('/var/lib/metatide/workers').st_ino)"
    return worker.execute("python", "-c", code)


def write_values(path: Path, values: Mapping[str, object]) -> Path:
    path.write_text(yaml.safe_dump(dict(values)))
    return path


def until_well(pod: Pod) -> None:
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        pod.until_passes(probe)


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
