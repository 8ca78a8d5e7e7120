"""What runs without a person waits for a ticket of a real key distribution centre."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from connectors.publish import tails
from hive.errors import InputError
from hive.reader.engines import unpooled_engine
from metatide.config import load
from metatide.health.heartbeats import hear_once
from metatide.topic import events_topic
from tests.connectors.connector_runs import Log, until
from tests.support.kafka.kerberized import OWN, Site, kerberized_site, until_it_waits
from tests.support.logins.kdc import REALM
from tests.support.workers import WorkerProcess, workers

pytestmark = pytest.mark.logins

EVENTS = 3
JOBS = {
    "prewarm": "metatide prewarm",
    "rebuild": "metatide rebuild",
}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with kerberized_site() as started:
        yield started


@pytest.fixture
def environment(new_database: Callable[[], str]) -> dict[str, str]:
    """That of a metastore with a few events."""
    url = new_database()
    engine = unpooled_engine(url)
    Log(engine).write(*range(1, EVENTS + 1))
    engine.dispose()
    return {"METATIDE_DATABASE_URL": url, "METATIDE_KAFKA_PARTITIONS": "2"}


def test_a_connector_waits_and_then_publishes_and_says_how_it_is(
    site: Site, environment: dict[str, str], tmp_path: Path
) -> None:
    topic = site.topic("connected")
    connector = WorkerProcess(
        topic,
        tmp_path,
        "connector",
        "metatide connect",
        METATIDE_CONNECT_NAME="early",
        METATIDE_CONNECT_PORT="0",
        **environment,
        **site.login(),
    )
    with ExitStack() as started:
        with site.without_kdc():
            started.enter_context(workers(connector))
            said = until_it_waits(connector, "Cannot contact any KDC")
            assert f"gets no ticket for {OWN}: " in said
        until(lambda: tails.find(topic).lowest == EVENTS, connector.log.read_text)
        until(lambda: "early" in {one.heartbeat.name for one in hear_once(topic)})
        assert connector.end() == 0
    assert "Traceback" not in connector.log.read_text()


def test_without_brokers_it_is_said_how_to_name_them(tmp_path: Path) -> None:
    config = load({"data_dir": str(tmp_path)}, environ={}).config
    with pytest.raises(InputError, match=r"^no Kafka: start `metatide up`, or give --kafka HOST:"):
        events_topic(config)


def test_jobs_wait_and_then_end(site: Site, environment: dict[str, str], tmp_path: Path) -> None:
    topic = site.topic("jobs")
    jobs = [
        WorkerProcess(topic, tmp_path, name, command, **environment, **site.login())
        for name, command in JOBS.items()
    ]
    with ExitStack() as started:
        with site.without_kdc():
            started.enter_context(workers(*jobs))
            for job in jobs:
                said = until_it_waits(job, "waiting for a ticket of Kerberos")
                assert "Cannot contact any KDC" in said
        assert [job.wait() for job in jobs] == [0, 0], [job.log.read_text() for job in jobs]


def test_a_job_with_another_fault_ends(
    site: Site, environment: dict[str, str], tmp_path: Path
) -> None:
    job = WorkerProcess(
        site.topic("faulty"),
        tmp_path,
        "faulty",
        "metatide prewarm",
        **environment,
        **site.login(f"nobody@{REALM}"),
    )
    with workers(job):
        assert job.wait() == 1
    assert f"gets no ticket for nobody@{REALM}" in job.log.read_text()
