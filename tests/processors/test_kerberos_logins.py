"""A ticket of Kerberos reaches a real broker through each of the three libraries."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from hive.errors import InputError
from metatide.config import load
from metatide.stack import jars
from metatide.stack.ports import Ports
from metatide.stack.service import Launch
from state.topic import Topic
from state.topic.kerberos import hold_ticket
from state.topic.settings import QUIET, client_settings
from tests.support.guarded_kafka import GuardedKafka
from tests.support.kdc import HOST, REALM, Kdc
from tests.support.kerberized_kafka_client import kerberized_kafka_client
from tests.support.locked_packages import package_folder
from tests.support.processes import open_folder, running
from tests.support.tickets import load_gssapi
from tests.support.workers import PATIENCE_S, WorkerProcess

pytestmark = pytest.mark.logins

USER = "me"
OWN = f"metatide@{REALM}"
_LOGIN = "com.sun.security.auth.module.Krb5LoginModule"


class KerberizedKafka(GuardedKafka):
    """Lets in who has a ticket, and the test by a password."""

    def __init__(self, folder: Path, ports: Ports, realm: Kdc) -> None:
        super().__init__(folder, ports, (USER,))
        self._realm = realm
        self._keytab = realm.keytab(f"kafka/{HOST}@{REALM}")

    def prepare(self) -> Launch:
        launch = super().prepare()
        java, *rest = launch.argv
        return Launch((java, f"-Djava.security.krb5.conf={self._realm.config}", *rest))

    def settings(self) -> Mapping[str, object]:
        listener = f"listener.name.{self.protocol.lower()}"
        options = f'useKeyTab=true storeKey=true keyTab="{self._keytab}"'
        return {
            "advertised.listeners": f"{self.protocol}://{HOST}:{self._port}",
            "sasl.enabled.mechanisms": "PLAIN,GSSAPI",
            "sasl.kerberos.service.name": "kafka",
            f"{listener}.gssapi.sasl.jaas.config": (
                f'{_LOGIN} required {options} principal="kafka/{HOST}@{REALM}";'
            ),
        }


class Site(NamedTuple):
    """A broker with Kerberos, and what a client sets there."""

    broker: KerberizedKafka
    realm: Kdc
    keytab: Path
    processes: ExitStack
    """What runs until the tests end."""
    kdc: subprocess.Popen[bytes]

    def login(self, principal: str = OWN, keytab: Path | None = None) -> dict[str, str]:
        return {
            "METATIDE_KAFKA_BOOTSTRAP_SERVERS": f"{HOST}:{self.broker.address.rpartition(':')[2]}",
            "METATIDE_KAFKA_SECURITY_PROTOCOL": self.broker.protocol.lower(),
            "METATIDE_KAFKA_SASL_MECHANISM": "GSSAPI",
            "METATIDE_KAFKA_SASL_KERBEROS_PRINCIPAL": principal,
            "METATIDE_KAFKA_SASL_KERBEROS_KEYTAB": str(keytab or self.keytab),
            "KRB5_CONFIG": str(self.realm.config),
            "PYTHONPATH": f"{kerberized_kafka_client()}:{package_folder('gssapi', 1)}",
        }

    def doctor(self, **environment: str) -> dict[str, Any]:
        """What the doctor says of each check."""
        done = subprocess.run(
            [sys.executable, "-m", "metatide", "doctor", "--json"],
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
            check=False,
        )
        checks = [json.loads(line) for line in done.stdout.splitlines()]
        return {check["check"]: check for check in checks}


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with open_folder() as folder, ExitStack() as processes:
        realm = Kdc(folder / "kdc", Ports(folder / "ports.json"))
        process = processes.enter_context(running(realm, folder / "kdc.log"))
        broker = KerberizedKafka(folder, Ports(folder / "ports.json"), realm)
        # What the keytab has first must not matter.
        keytab = realm.keytab(f"another@{REALM}", OWN)
        with running(broker, folder / "log"):
            yield Site(broker, realm, keytab, processes, process)


def test_a_worker_follows_and_the_doctor_agrees(site: Site, tmp_path: Path) -> None:
    jars.fetch("spark")
    security = load(environ=site.broker.environment(USER)).config.kafka.security
    topic = Topic(site.broker.address, "tickets", 2, security)
    admin = AdminClient(topic.client, logger=QUIET)
    for created in admin.create_topics([NewTopic(topic.name, 2, 1)]).values():
        created.result(30)
    login = site.login()
    worker = WorkerProcess(topic, tmp_path, "with-ticket", **login)
    worker.start()
    try:
        worker.until_ready(2)
        checks = site.doctor(**login, METATIDE_KAFKA_PARTITIONS="2")
        assert checks["kafka"]["status"] == "ok"
        assert checks["kafka by workers"]["status"] == "ok"
        assert checks["kafka by Spark"]["status"] == "ok", checks["kafka by Spark"]
    finally:
        worker.end()


def test_a_worker_waits_for_a_key_distribution_centre(site: Site, tmp_path: Path) -> None:
    security = load(environ=site.broker.environment(USER)).config.kafka.security
    topic = Topic(site.broker.address, "later", 2, security)
    admin = AdminClient(topic.client, logger=QUIET)
    for created in admin.create_topics([NewTopic(topic.name, 2, 1)]).values():
        created.result(30)
    worker = WorkerProcess(topic, tmp_path, "early", **site.login())
    site.kdc.terminate()
    site.kdc.wait()
    try:
        worker.start()
        deadline = time.monotonic() + PATIENCE_S
        while "waiting for the topic" not in worker.log.read_text():
            assert worker.running, worker.log.read_text()
            assert time.monotonic() < deadline, worker.log.read_text()
            time.sleep(0.1)
    finally:
        site.processes.enter_context(running(site.realm, tmp_path / "kdc.log"))
    try:
        text = worker.log.read_text()
        assert f"gets no ticket for {OWN}: " in text
        assert "Cannot contact any KDC" in text
        worker.until_ready(2)
    finally:
        worker.end()


def test_a_keytab_without_the_principal_is_told_and_no_key_shown(site: Site) -> None:
    finding = site.doctor(**site.login(f"nobody@{REALM}"))["kafka"]
    assert finding["status"] == "failed"
    assert f"gets no ticket for nobody@{REALM}" in finding["detail"]


def test_wheels_without_kerberos_are_refused(site: Site) -> None:
    with pytest.raises(InputError, match=r"which this confluent-kafka can't: .*libsasl2"):
        client_settings("localhost:1", load(environ=site.login()).config.kafka.security)


def test_a_ticket_is_renewed(site: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    gssapi = load_gssapi()
    keytab = site.realm.keytab(f"short@{REALM}")
    site.realm.limit_tickets(f"short@{REALM}", 4)
    monkeypatch.setenv("KRB5_CONFIG", str(site.realm.config))
    monkeypatch.setenv("KRB5CCNAME", "")
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", "")
    hold_ticket(f"short@{REALM}", str(keytab))
    first = os.environ["KRB5CCNAME"]
    time.sleep(5)
    hold_ticket(f"short@{REALM}", str(keytab))
    assert os.environ["KRB5CCNAME"] == first
    held = gssapi.Credentials(usage="initiate")
    assert str(held.name) == f"short@{REALM}"
    assert held.lifetime > 0
