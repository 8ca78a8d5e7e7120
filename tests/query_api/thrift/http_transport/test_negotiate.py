"""Clients of HTTP that log in by tickets of a real key distribution centre."""

import asyncio
import base64
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from hive.errors import InputError
from query_api.thrift.metastore.client_identity import SET_UGI
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.configured import configured, settings_of
from tests.query_api.thrift.http_transport.clients import (
    PATH,
    SPNEGO,
    Answer,
    call,
    negotiate,
    serving_http,
)
from tests.query_api.thrift.http_transport.issuer import Issuer, bearer
from tests.query_api.thrift.serving import Metastore, answer, result
from tests.query_api.thrift.structs import message
from tests.support.logins.certificates import Authority
from tests.support.logins.kdc import HOST, REALM, SERVICE, Kdc, kdc
from tests.support.logins.tickets import BriefTickets, clients_of, keep_tickets_out, session_with
from tests.support.processes import open_folder
from tests.support.programs import system_program
from tests.support.worker_log import WorkerLog

pytestmark = [pytest.mark.logins, pytest.mark.timeout(900), pytest.mark.by_turns(4, of="logins")]
HTTP_SERVICE: Final = f"HTTP/{HOST}@{REALM}"
METHODS: Final[dict[str, Any]] = {"get_table": lambda _: answer("c")}


class Realm(NamedTuple):
    """A key distribution centre, the keytabs of a user and of the server, and certificates."""

    kdc: Kdc
    ann: Path
    service: Path
    authority: Authority

    def settings(self, keytab: Path | None = None, **more: str) -> ThriftSettings:
        keys = {
            "PORT": 0,
            "HTTP_PORT": 0,
            "KERBEROS_PRINCIPAL": f"hive/_HOST@{REALM}",
            "KERBEROS_KEYTAB": keytab or self.service,
        }
        return settings_of(configured(self.authority, **keys | more), HOST)

    def session(self, service: str = "HTTP", mechanism: str | None = SPNEGO) -> Any:
        return session_with(self.ann, f"ann@{REALM}", service, mechanism)


@pytest.fixture(scope="module")
def realm() -> Iterator[Realm]:
    with open_folder() as folder, kdc(folder) as server, clients_of(server):
        keytab = server.keytab(SERVICE, HTTP_SERVICE)
        authority = Authority(folder / "authority")
        yield Realm(server, server.keytab("ann"), keytab, authority)


@pytest.fixture(autouse=True)
def _no_ticket_is_logged(realm: Realm, log: WorkerLog, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_tickets_out(log, monkeypatch, realm.ann, realm.service)


async def refused(realm: Realm, settings: ThriftSettings, headers: dict[str, str]) -> Answer:
    """The refusal of a request."""
    async with serving_http(settings=settings, **METHODS) as here:
        said = await here.ask(call("get_table", headers=headers), ssl=realm.authority.trusted)
        assert said.status == 401
        assert "Negotiate" in said.header("www-authenticate")
        assert not here.running.methods.calls
        assert here.bytes_in_flight == 0
        return said


@pytest.mark.parametrize("mechanism", [SPNEGO, None])
async def test_a_client_with_a_ticket_is_served_and_the_server_proves_itself_too(
    realm: Realm, mechanism: str | None
) -> None:
    async with serving_http(settings=realm.settings(), **METHODS) as here:
        client = await here.connect(ssl=realm.authority.trusted)
        for _ in range(2):
            session = realm.session(mechanism=mechanism)
            said = await client.ask(call("get_table", headers=negotiate(session.step())))
            assert (said.status, said.body) == (200, message("get_table", result("c"), kind=2))
            scheme, _, token = said.header("www-authenticate").partition(" ")
            assert scheme == "Negotiate"
            session.step(base64.b64decode(token))
            assert session.complete
        assert here.users() == ["ann", "ann"]
        assert 'metatide_thrift_logins_total{mechanism="SPNEGO"} 1.0' in here.metrics()


async def test_a_ticket_counts_for_its_request_alone(realm: Realm) -> None:
    async with serving_http(settings=realm.settings(), **METHODS) as here:
        client = await here.connect(ssl=realm.authority.trusted)
        said = await client.ask(call("get_table", headers=negotiate(realm.session().step())))
        assert (said.status, said.header("persistent-auth")) == (200, "false")
        assert (await client.ask(call("get_table"))).status == 401


@pytest.mark.parametrize("token", [b"", b"\0", b"\x60\x81" + b"\xff" * 300, b"NTLMSSP\0" * 20])
async def test_what_is_no_ticket_is_refused(realm: Realm, token: bytes) -> None:
    said = await refused(realm, realm.settings(), negotiate(token))
    assert said.body.startswith((b"Kerberos: ", b"Negotiate: "))


async def test_without_a_ticket_nobody_is_served(realm: Realm) -> None:
    for headers in ({}, {"authorization": "Negotiate ?"}, {"x-actor-username": "ann"}):
        said = await refused(realm, realm.settings(), headers)
        assert said.header("www-authenticate") == "Negotiate"


async def test_a_ticket_for_another_service_is_refused(realm: Realm) -> None:
    said = await refused(realm, realm.settings(), negotiate(realm.session("hive").step()))
    assert said.body.startswith(b"Kerberos: ")


async def test_a_ticket_is_refused_when_clocks_differ(
    realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    token = realm.session().step()
    await asyncio.sleep(2.5)
    config = realm.kdc.write_config(tmp_path / "krb5.conf", skew_s=1)
    monkeypatch.setenv("KRB5_CONFIG", str(config))
    said = await refused(realm, realm.settings(), negotiate(token))
    assert b"Clock skew too great: set the clocks" in said.body


async def test_an_expired_ticket_is_refused(
    realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    brief = BriefTickets(realm.kdc, tmp_path, monkeypatch)
    brief.session("HTTP", SPNEGO).step()
    await brief.outlive()
    ended = brief.session("HTTP", SPNEGO).step()
    said = await refused(realm, realm.settings(), negotiate(ended))
    assert said.body == b"Kerberos: Ticket expired: get a new one, as by kinit\n"


async def test_new_keys_in_the_keytab_are_used_at_once_and_old_ones_are_refused(
    realm: Realm, tmp_path: Path
) -> None:
    used, before = tmp_path / "used.keytab", tmp_path / "before.keytab"
    shutil.copy(realm.service, used)
    shutil.copy(realm.service, before)
    settings = realm.settings(used)
    shutil.copy(realm.kdc.keytab(SERVICE, HTTP_SERVICE), used)
    bob = realm.kdc.keytab("bob")
    async with serving_http(settings=settings, **METHODS) as here:
        session = session_with(bob, f"bob@{REALM}", "HTTP", SPNEGO)
        request = call("get_table", headers=negotiate(session.step()))
        assert (await here.ask(request, ssl=realm.authority.trusted)).status == 200
        assert here.users() == ["bob"]
    session = session_with(bob, f"bob@{REALM}", "HTTP", SPNEGO)
    said = await refused(realm, realm.settings(before), negotiate(session.step()))
    assert said.body.startswith(b"Kerberos: ")
    assert HTTP_SERVICE.encode() in said.body


async def test_a_keytab_without_a_key_for_http_is_told_at_the_start(
    realm: Realm, tmp_path: Path, log: WorkerLog
) -> None:
    hive_alone = realm.kdc.keytab(f"hive/alone@{REALM}")
    without = {"KERBEROS_PRINCIPAL": f"hive/alone@{REALM}"}
    with pytest.raises(InputError, match=r"can't be used for HTTP/alone@"):
        realm.settings(hive_alone, **without)
    issuer, keys = Issuer(), tmp_path / "keys.json"
    issuer.add("first")
    keys.write_bytes(issuer.key_set())
    settings = realm.settings(hive_alone, JWT_KEYS=str(keys), **without)
    assert list(settings.http.schemes) == ["bearer"]
    assert "HTTP/alone@" in log.entries[0]["why"]


async def test_tickets_and_tokens_go_side_by_side(realm: Realm, tmp_path: Path) -> None:
    issuer, keys = Issuer(), tmp_path / "keys.json"
    issuer.add("first")
    keys.write_bytes(issuer.key_set())
    settings = realm.settings(JWT_KEYS=str(keys))
    # Whoever has a ticket already may have it for keys that another test has replaced.
    session = session_with(realm.kdc.keytab("carl"), f"carl@{REALM}", "HTTP", SPNEGO)
    async with serving_http(settings=settings, **METHODS) as here:
        for headers in (bearer(issuer.token()), negotiate(session.step())):
            said = await here.ask(call("get_table", headers=headers), ssl=realm.authority.trusted)
            assert said.status == 200
        said = await here.ask(call("get_table", headers=bearer("no")), ssl=realm.authority.trusted)
        asks = [value for name, value in said.headers if name == "www-authenticate"]
        assert [value.split()[0] for value in asks] == ["Bearer", "Negotiate"]


async def test_curl_logs_in_by_its_ticket(
    realm: Realm, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It asks without a ticket first, and again with one on the same connection."""
    monkeypatch.setenv("KRB5_CLIENT_KTNAME", str(realm.ann))
    monkeypatch.setenv("KRB5CCNAME", f"FILE:{tmp_path / 'tickets'}")
    request = tmp_path / "call"
    request.write_bytes(message("create_database", b"\0"))
    metastore = Metastore()
    async with serving_http(metastore, settings=realm.settings()) as here:
        address = f"https://{HOST}:{here.port}{PATH}"
        content = ("-H", "content-type: application/x-thrift", "--data-binary", f"@{request}")
        options = ("-s", "--insecure", "--negotiate", "-u", ":", *content)
        # The certificate is that of an address, and tickets are for names.
        process = await asyncio.create_subprocess_exec(
            *(system_program("curl"), *options, address, address),
            stdout=asyncio.subprocess.PIPE,
        )
        replies, _ = await process.communicate()
        expected = message("create_database", result("m:create_database"), kind=2)
        assert replies == expected * 2
        assert metastore.heard[:2] == [SET_UGI, "create_database"]
        assert b"ann" in metastore.calls[0]
