"""Clients that log in by tickets of a real key distribution centre."""

import asyncio
import shutil
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from msgspec.structs import replace
from py4j.protocol import Py4JJavaError

from hive.errors import InputError
from metatide.config.values import ThriftUrl
from query_api.thrift.java.gateway import OPTIONS
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.sasl.negotiation import Status, frame
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.configured import configured, settings_of
from tests.query_api.thrift.sasl.clients import (
    AUTHENTICATION,
    INTEGRITY,
    PRIVACY,
    heard,
    log_in_by_ticket,
)
from tests.query_api.thrift.serving import Running, answer, result, serving, until
from tests.query_api.thrift.structs import message, text
from tests.support.hive.client import HiveClient, log_in_by_keytab
from tests.support.hive.java import hive_java
from tests.support.hive.metastore import Instances
from tests.support.logins.kdc import HOST, REALM, SERVICE, Kdc, kdc
from tests.support.logins.tickets import BriefTickets, clients_of, keep_tickets_out, session_with
from tests.support.processes import open_folder
from tests.support.worker_log import WorkerLog

pytestmark = [pytest.mark.logins, pytest.mark.timeout(900), pytest.mark.by_turns(4, of="logins")]
LARGE: Final = "x" * 300_000


class Realm(NamedTuple):
    """A key distribution centre, and the keytab of a user."""

    kdc: Kdc
    ann: Path
    service: Path

    def settings(self, keytab: Path | None = None, **more: str) -> ThriftSettings:
        keys = {
            "KERBEROS_PRINCIPAL": f"hive/_HOST@{REALM}",
            "KERBEROS_KEYTAB": keytab or self.service,
        }
        return settings_of(configured(None, **keys | more), HOST)


@pytest.fixture(scope="module")
def realm() -> Iterator[Realm]:
    with open_folder() as folder, kdc(folder) as server, clients_of(server):
        yield Realm(server, server.keytab("ann"), server.keytab(SERVICE))


@pytest.fixture(autouse=True)
def _no_ticket_is_logged(realm: Realm, log: WorkerLog, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_tickets_out(log, monkeypatch, realm.ann, realm.service)


async def refused(settings: ThriftSettings, session: Any, protection: int = AUTHENTICATION) -> str:
    """Why a login is refused."""
    async with serving(settings=settings) as here:
        said = await log_in_by_ticket(await here.connect(), session, protection)
        assert said.status == Status.BAD
        await until(lambda: 'metatide_thrift_refused_total{reason="login"} 1.0' in here.metrics())
        assert here.server._budget.bytes == 0
    return said.data.decode()


def is_refused(here: Running) -> bool:
    return 'metatide_thrift_refused_total{reason="protocol"} 1.0' in here.metrics()


@pytest.mark.parametrize("protection", [AUTHENTICATION, INTEGRITY, PRIVACY])
async def test_a_client_with_a_ticket_is_served_under_the_protection_of_its_choice(
    realm: Realm, protection: int
) -> None:
    async with serving(
        settings=realm.settings(),
        get_table=lambda _: answer("c"),
        get_large=lambda _: answer(LARGE),
    ) as here:
        client = await here.connect()
        session = session_with(realm.ann, f"ann@{REALM}")
        assert await log_in_by_ticket(client, session, protection) == (Status.COMPLETE, b"")
        for method, expected in (("get_table", result("c")), ("get_large", result(LARGE))) * 2:
            reply = await client.call(method, text(1, LARGE) + b"\0")
            assert reply is not None
            assert reply.body == expected
        assert {call.client.user for call in here.methods.calls} == {"ann"}
        assert 'metatide_thrift_logins_total{mechanism="GSSAPI"} 1.0' in here.metrics()
        assert here.server._budget.bytes == 0


async def test_a_service_is_the_user_of_its_first_name(realm: Realm) -> None:
    service = realm.kdc.keytab(f"spark/host-1@{REALM}")
    async with serving(settings=realm.settings(), get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        await log_in_by_ticket(client, session_with(service, f"spark/host-1@{REALM}"))
        assert await client.call("get_table") is not None
        assert here.methods.calls[0].client.user == "spark"


async def test_less_protection_than_is_required_is_refused(realm: Realm) -> None:
    for least, protections in (
        ("integrity", (AUTHENTICATION,)),
        ("privacy", (AUTHENTICATION, INTEGRITY)),
    ):
        settings = realm.settings(KERBEROS_PROTECTION=least)
        for protection in (*protections, 3, 0):
            why = await refused(settings, session_with(realm.ann, f"ann@{REALM}"), protection)
            assert f"chose the protection {protection}, which isn't offered" in why


async def test_frames_that_nobody_protected_end_the_connection(realm: Realm) -> None:
    for forged in (b"\0\0\0\x04ping", b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff"):
        async with serving(settings=realm.settings(), get_table=lambda _: answer("c")) as here:
            client = await here.connect()
            await log_in_by_ticket(client, session_with(realm.ann, f"ann@{REALM}"), PRIVACY)
            client.writer.write(forged)
            assert await client.reader.read() == b""
            await until(partial(is_refused, here))
            assert not here.methods.calls


async def test_what_is_only_signed_is_refused_where_all_is_to_be_encrypted(realm: Realm) -> None:
    async with serving(settings=realm.settings(), get_table=lambda _: answer("c")) as here:
        client, session = await here.connect(), session_with(realm.ann, f"ann@{REALM}")
        await log_in_by_ticket(client, session, PRIVACY)
        signed = session.wrap(message("get_table", b"\0"), False).message
        client.writer.write(len(signed).to_bytes(4, "big") + signed)
        assert await client.reader.read() == b""
        assert not here.methods.calls


async def test_a_protected_frame_that_never_ends_is_in_flight_and_ends_the_connection(
    realm: Realm,
) -> None:
    settings = replace(realm.settings(), message_timeout_s=0.3)
    async with serving(settings=settings) as here:
        client = await here.connect()
        await log_in_by_ticket(client, session_with(realm.ann, f"ann@{REALM}"), PRIVACY)
        client.writer.write(b"\0\0\x10\0" + bytes(1000))
        await until(lambda: here.server._budget.bytes == 1004)
        assert await client.reader.read() == b""
        await until(lambda: 'metatide_thrift_refused_total{reason="slow"} 1.0' in here.metrics())
        assert here.server._budget.bytes == 0


@pytest.mark.parametrize("token", [b"", b"\0", b"\x60\x81" + b"\xff" * 300, b"NTLMSSP\0" * 20])
async def test_what_is_no_ticket_is_refused(realm: Realm, token: bytes) -> None:
    async with serving(settings=realm.settings()) as here:
        client = await here.connect()
        client.writer.write(frame(Status.START, b"GSSAPI") + frame(Status.OK, token))
        said = await heard(client)
        assert said.status == Status.BAD
        assert said.data.startswith(b"Kerberos: ")
        await until(lambda: 'metatide_thrift_refused_total{reason="login"} 1.0' in here.metrics())


async def test_a_ticket_is_refused_when_clocks_differ(
    realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = session_with(realm.ann, f"ann@{REALM}")
    token = session.step()
    await asyncio.sleep(2.5)
    config = realm.kdc.write_config(tmp_path / "krb5.conf", skew_s=1)
    monkeypatch.setenv("KRB5_CONFIG", str(config))
    async with serving(settings=realm.settings()) as here:
        client = await here.connect()
        client.writer.write(frame(Status.START, b"GSSAPI") + frame(Status.OK, token))
        said = await heard(client)
        assert said.status == Status.BAD
        assert said.data.startswith(b"Kerberos: Clock skew too great: set the clocks")


async def test_an_expired_ticket_is_refused_and_connections_outlast_theirs(
    realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = BriefTickets(realm.kdc, tmp_path, monkeypatch)
    async with serving(settings=realm.settings(), get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        said = await log_in_by_ticket(client, brief.session(), PRIVACY)
        assert said.status == Status.COMPLETE
        await brief.outlive()
        assert await client.call("get_table") is not None
        said = await log_in_by_ticket(await here.connect(), brief.session())
        assert said == (Status.BAD, b"Kerberos: Ticket expired: get a new one, as by kinit")


async def test_new_keys_in_the_keytab_are_used_at_once_and_old_ones_are_refused(
    realm: Realm, tmp_path: Path
) -> None:
    used, before = tmp_path / "used.keytab", tmp_path / "before.keytab"
    name = f"hive/{HOST}@{REALM}"
    shutil.copy(realm.service, used)
    shutil.copy(realm.service, before)
    settings = realm.settings(used)
    shutil.copy(realm.kdc.keytab(SERVICE), used)
    other = realm.kdc.keytab("bob")
    async with serving(settings=settings) as here:
        said = await log_in_by_ticket(await here.connect(), session_with(other, f"bob@{REALM}"))
        assert said == (Status.COMPLETE, b"")
    why = await refused(realm.settings(before), session_with(other, f"bob@{REALM}"))
    assert why.startswith("Kerberos: ")
    assert name in why


def test_a_keytab_that_can_not_be_used_is_told_at_the_start(realm: Realm, tmp_path: Path) -> None:
    for keytab in (tmp_path / "nothing", realm.ann):
        with pytest.raises(InputError, match=r"thrift\.kerberos_keytab .* can't be used for hive/"):
            realm.settings(keytab)


@pytest.mark.hive
@pytest.mark.parametrize("protection", ["authentication", "privacy"])
async def test_hives_own_client_logs_in(
    realm: Realm, metastore: Instances, protection: str, log: WorkerLog
) -> None:
    upstream = UpstreamSettings((ThriftUrl(metastore.addresses[0]).address,))
    properties = {
        "metastore.sasl.enabled": "true",
        "metastore.kerberos.principal": f"hive/_HOST@{REALM}",
        "hadoop.security.authentication": "kerberos",
        "hadoop.rpc.protection": protection,
        "metastore.connect.retries": "1",
        "metastore.thrift.failure.retries": "0",
    }
    options = (*OPTIONS, f"-Djava.security.krb5.conf={realm.kdc.config}")

    def use(address: str) -> tuple[Sequence[str], str]:
        with hive_java(options, release="4.0.1") as java:
            log_in_by_keytab(java, f"ann@{REALM}", realm.ann, properties)
            client = HiveClient(java, address, properties)
            databases = [*client.client.getAllDatabases()]
            client.close()
            changed = {**properties, "metastore.sasl.enabled": "false"}
            changed["metastore.execute.setugi"] = "false"
            with pytest.raises(Py4JJavaError) as caught:
                HiveClient(java, address, changed).client.getAllDatabases()
            return databases, str(caught.value.java_exception)

    settings = realm.settings(SLOW_MS="1", KERBEROS_PROTECTION=protection)
    async with serving(upstream=upstream, settings=settings) as here:
        databases, why = await asyncio.to_thread(use, f"thrift://{HOST}:{here.port}")
    assert "default" in databases
    assert "prove who they are" in why
    assert log.users("slow call") == {"ann"}
