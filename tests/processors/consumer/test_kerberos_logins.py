"""A ticket of Kerberos reaches a real broker through each of the three libraries."""

import os
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from hive.errors import InputError
from metatide.config import load
from metatide.stack import jars
from state.topic.kerberos import hold_ticket
from state.topic.settings import client_settings
from tests.support.kafka.kerberized import OWN, Site, kerberized_site, until_it_waits
from tests.support.locked_packages import package_folder
from tests.support.logins.kdc import REALM
from tests.support.logins.tickets import load_gssapi
from tests.support.workers import WorkerProcess

pytestmark = [pytest.mark.logins, pytest.mark.by_turns(4, of="logins")]


@pytest.fixture(scope="module")
def site() -> Iterator[Site]:
    with kerberized_site() as started:
        yield started


def test_a_worker_follows_and_the_doctor_agrees(site: Site, tmp_path: Path) -> None:
    jars.fetch("spark")
    topic = site.topic("tickets")
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
    worker = WorkerProcess(site.topic("later"), tmp_path, "early", **site.login())
    with site.without_kdc():
        worker.start()
        assert f"gets no ticket for {OWN}: " in until_it_waits(worker, "waiting for the topic")
    try:
        assert "Cannot contact any KDC" in worker.log.read_text()
        worker.until_ready(2)
    finally:
        worker.end()


def test_a_keytab_without_the_principal_is_told_and_no_key_shown(site: Site) -> None:
    finding = site.doctor(**site.login(f"nobody@{REALM}"))["kafka"]
    assert finding["status"] == "failed"
    assert f"gets no ticket for nobody@{REALM}" in finding["detail"]


def test_the_doctor_tries_the_other_libraries_where_one_has_no_kerberos(site: Site) -> None:
    jars.fetch("spark")
    login = site.login() | {"PYTHONPATH": str(package_folder("gssapi", 1))}
    checks = site.doctor(**login)
    assert checks["kafka"]["status"] == "failed"
    assert "which this confluent-kafka can't" in checks["kafka"]["detail"]
    assert checks["kafka by workers"]["status"] == "ok", checks["kafka by workers"]
    assert checks["kafka by Spark"]["status"] == "ok", checks["kafka by Spark"]


def test_wheels_without_kerberos_are_refused(site: Site) -> None:
    with pytest.raises(InputError, match=r"which this confluent-kafka can't: .*libsasl2"):
        client_settings("localhost:1", load(environ=site.login()).config.kafka.security)


def test_a_ticket_is_renewed_by_the_keytab_as_it_is_then(
    site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    gssapi = load_gssapi()
    principal = f"short@{REALM}"
    keytab = site.realm.keytab(principal)
    site.realm.limit_tickets(principal, 4)
    monkeypatch.setenv("KRB5_CONFIG", str(site.realm.config))
    monkeypatch.setenv("KRB5CCNAME", "")
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", "")
    hold_ticket(principal, str(keytab))
    first, old = os.environ["KRB5CCNAME"], keytab.read_bytes()
    time.sleep(5)
    assert site.realm.keytab(principal) == keytab
    assert keytab.read_bytes() != old
    hold_ticket(principal, str(keytab))
    assert os.environ["KRB5CCNAME"] == first
    credentials = gssapi.Credentials(usage="initiate")
    assert str(credentials.name) == principal
    assert credentials.lifetime > 0
    new = keytab.read_bytes()
    keytab.write_bytes(old)
    time.sleep(5)
    with pytest.raises(gssapi.exceptions.GSSError):
        gssapi.Credentials(usage="initiate").inquire()
    keytab.write_bytes(new)
    assert gssapi.Credentials(usage="initiate").lifetime > 0
