"""The worker's own logins at real metastores: tickets, their renewal, and what can be wrong."""

import asyncio
import base64
import shutil
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from hive.delegation_tokens import read_token
from hive.errors import UpstreamError
from metatide.config.values import ThriftUrl
from metatide.doctor import Finding, Status, examine, find_target
from metatide.doctor.checks import CHECKS
from metatide.metastores import upstream_settings
from metatide.stack.machine import free_port
from query_api.thrift.metastore.settings import fetch_settings
from query_api.thrift.metastore.upstream import Upstreams
from query_api.thrift.sasl.negotiation import Status as Frame
from query_api.thrift.sasl.negotiation import frame
from tests.query_api.thrift.metastore.login.realm import (
    CORE,
    OWN,
    HiveUsers,
    Realm,
    hive_users,
    realm,
)
from tests.query_api.thrift.sasl.clients import (
    Token,
    heard,
    log_in_by_ticket,
    log_in_by_token,
)
from tests.query_api.thrift.serving import answer, result, serving
from tests.query_api.thrift.structs import text
from tests.support.hive.secure_metastore import MEMORY_STORE, secure_metastore
from tests.support.logins.certificates import STORE_PASSWORD, Authority
from tests.support.logins.kdc import HOST, REALM, SERVICE
from tests.support.logins.tickets import keep_tickets_out, load_gssapi, session_with
from tests.support.worker_log import WorkerLog

pytestmark = [
    pytest.mark.logins,
    pytest.mark.hive,
    pytest.mark.timeout(900),
    pytest.mark.by_turns(4, of="logins"),
]
TICKET_S: Final = 4
TOKEN_S: Final = 30
NO_TICKET: Final = "upstream.kerberos_keytab .*used.keytab gets no ticket"
WRONG: Final = "its-password"
LONG: Final = "x" * 300_000


class Site(NamedTuple):
    """A realm, and a metastore in it that encrypts and keeps tokens in memory."""

    realm: Realm
    metastore: str

    def upstreams(self, **more: str) -> Upstreams:
        return Upstreams(
            upstream_settings(self.realm.config(self.metastore, **more).upstream, None)
        )

    async def failure(self, **more: str) -> str:
        """Why the worker can't log in."""
        with pytest.raises(UpstreamError) as caught:
            await self.upstreams(**more).open()
        return str(caught.value)


@pytest.fixture(scope="module")
def site(new_database: Callable[[], str]) -> Iterator[Site]:
    with realm() as own:
        core = {**CORE, "hadoop.rpc.protection": "authentication,privacy"}
        properties = {
            "hive.cluster.delegation.token.store.class": MEMORY_STORE,
            # A metastore renews tokens by itself for as long as they may last.
            "hive.cluster.delegation.token.max-lifetime": f"{TOKEN_S}s",
            "hive.cluster.delegation.token.renew-interval": f"{TOKEN_S}s",
        }
        with secure_metastore(
            own.kdc, own.service, new_database(), core=core, properties=properties
        ) as address:
            yield Site(own, address)


@pytest.fixture(scope="module")
def users(site: Site) -> Iterator[HiveUsers]:
    with hive_users(site.realm) as users:
        yield users


@pytest.fixture(autouse=True)
def _no_ticket_is_logged(site: Site, log: WorkerLog, monkeypatch: pytest.MonkeyPatch) -> None:
    keytabs = site.realm.own, site.realm.service, site.realm.users["ann"]
    keep_tickets_out(log, monkeypatch, *keytabs)


async def test_a_metastore_that_encrypts_is_asked_for_its_settings(site: Site) -> None:
    settings = upstream_settings(site.realm.config(site.metastore).upstream, None)
    its_settings = await fetch_settings(settings, ThriftUrl(site.metastore).address)
    assert its_settings is not None
    assert its_settings.default_catalog == "hive"


async def test_the_doctor_logs_in_as_a_worker_does(site: Site, tmp_path: Path) -> None:
    def findings(**more: str) -> Mapping[str, Finding]:
        config = site.realm.config(site.metastore, DATA_DIR=str(tmp_path), **more)
        checks = [check for check in CHECKS if check.name in ("metastore", "impersonation")]
        return {result.check: result.finding for result in examine(find_target(config), checks)}

    results = await asyncio.to_thread(findings)
    assert results["metastore"].detail.endswith(f", logged in as {OWN}")
    assert results["impersonation"].detail.startswith("the metastore issues delegation tokens")
    results = await asyncio.to_thread(findings, UPSTREAM_IMPERSONATE="false")
    assert results["impersonation"].detail == "off: relayed calls run as the worker's own user"
    wrong = str(tmp_path / "nothing")
    results = await asyncio.to_thread(findings, UPSTREAM_KERBEROS_KEYTAB=wrong)
    assert results["metastore"].status is Status.FAILED
    assert f"upstream.kerberos_keytab {wrong} gets no ticket" in results["metastore"].detail
    assert results["impersonation"].status is Status.UNCHECKED


async def test_long_calls_and_replies_are_encrypted_in_pieces(site: Site) -> None:
    settings = site.realm.worker(site.metastore, UPSTREAM_IMPERSONATE="false")
    async with serving(**settings) as here:
        client = await here.connect()
        session = session_with(site.realm.users["ann"], f"ann@{REALM}")
        assert (await log_in_by_ticket(client, session)).status == Frame.COMPLETE
        reply = await client.call("get_config_value", text(1, "hive.none") + text(2, LONG) + b"\0")
        assert reply is not None
        assert reply.body == result(LONG)


async def test_tickets_and_tokens_are_shown_over_tls(
    site: Site, tmp_path: Path, new_database: Callable[[], str]
) -> None:
    authority = Authority(tmp_path / "authority")
    properties = {
        "metastore.use.SSL": "true",
        "metastore.keystore.path": str(authority.java_key(authority.sign(HOST, HOST))),
        "metastore.keystore.password": STORE_PASSWORD,
    }
    own, tls = site.realm, {"UPSTREAM_TLS": "true"}
    with secure_metastore(
        own.kdc, own.service, new_database(), core=CORE, properties=properties
    ) as address:
        trusting = {**tls, "UPSTREAM_TLS_CA": str(authority.certificate)}
        async with serving(**own.worker(address, **trusting)) as here:
            client = await here.connect()
            session = session_with(own.users["ann"], f"ann@{REALM}")
            assert (await log_in_by_ticket(client, session)).status == Frame.COMPLETE
            reply = await client.call("get_database", text(1, "default") + b"\0")
            assert reply is not None
            assert reply.body.startswith(b"\x0c\0\0")
        assert "CERTIFICATE_VERIFY_FAILED" in await site.failure(UPSTREAM_URL=address, **tls)


async def test_tickets_are_renewed_by_the_keytab_as_it_is_then(site: Site, tmp_path: Path) -> None:
    kdc, used = site.realm.kdc, tmp_path / "used.keytab"
    name = "brief"
    kdc.keytab(name)
    kdc.limit_tickets(name, TICKET_S)
    shutil.copy(kdc.keytab(name), used)
    upstreams = site.upstreams(
        UPSTREAM_KERBEROS_LOGIN=f"{name}@{REALM}", UPSTREAM_KERBEROS_KEYTAB=str(used)
    )

    async def log_in() -> None:
        (await upstreams.open()).close()

    await log_in()
    await asyncio.sleep(TICKET_S + 1)
    await log_in()
    # The principal has new keys, which the keytab lacks.
    new = kdc.keytab(name)
    await asyncio.sleep(TICKET_S + 1)
    with pytest.raises(UpstreamError, match=NO_TICKET):
        await log_in()
    shutil.copy(new, used)
    await log_in()
    used.unlink()
    await asyncio.sleep(TICKET_S + 1)
    with pytest.raises(UpstreamError, match=NO_TICKET):
        await log_in()


async def test_tickets_are_renewed_before_they_end(site: Site) -> None:
    name, life_s = "lasting", 20
    keytab = site.realm.kdc.keytab(name)
    site.realm.kdc.limit_tickets(name, life_s)
    settings = upstream_settings(
        site.realm.config(
            site.metastore,
            UPSTREAM_KERBEROS_LOGIN=f"{name}@{REALM}",
            UPSTREAM_KERBEROS_KEYTAB=str(keytab),
        ).upstream,
        None,
    )
    login: Any = settings.login
    store = {"ccache": f"FILE:{login._tickets}"}

    def left_s() -> int:
        lifetime = load_gssapi().Credentials(usage="initiate", store=store).lifetime
        assert isinstance(lifetime, int)
        return lifetime

    upstreams = Upstreams(settings)
    (await upstreams.open()).close()
    while left_s() > life_s / 2 - 1:
        await asyncio.sleep(0.5)
    (await upstreams.open()).close()
    assert left_s() > life_s / 2


async def test_a_ticket_for_old_keys_of_the_metastore_is_replaced(
    new_database: Callable[[], str],
) -> None:
    with realm() as own, secure_metastore(own.kdc, own.service, new_database(), core=CORE) as url:
        upstreams = Upstreams(upstream_settings(own.config(url).upstream, None))
        (await upstreams.open()).close()
        assert own.kdc.keytab(SERVICE) == own.service
        with pytest.raises(UpstreamError, match="it refuses the login"):
            await upstreams.open()
        (await upstreams.open()).close()


async def test_what_is_wrong_with_a_login_is_told(
    site: Site, tmp_path: Path, log: WorkerLog
) -> None:
    for wrong in (site.realm.users["ann"], tmp_path / "nothing"):
        why = await site.failure(UPSTREAM_KERBEROS_KEYTAB=str(wrong))
        assert f"upstream.kerberos_keytab {wrong} gets no ticket for metatide@{REALM}: " in why
    why = await site.failure(UPSTREAM_KERBEROS_PRINCIPAL=f"other/_HOST@{REALM}")
    assert f"metatide@{REALM} gets no ticket for other/localhost@{REALM}" in why
    assert "not found in Kerberos database" in why
    why = await site.failure(UPSTREAM_KERBEROS_LOGIN=f"nobody@{REALM}")
    assert f"gets no ticket for nobody@{REALM}" in why
    assert log.entries


async def test_a_server_without_kerberos_is_told_as_such(site: Site) -> None:
    async with serving() as plain:
        why = await site.failure(UPSTREAM_URL=f"thrift://localhost:{plain.port}")
    assert "it refuses the login: 'SASL (Kerberos, PLAIN, tokens) is not spoken here" in why
    why = await site.failure(UPSTREAM_URL=f"thrift://localhost:{free_port()}")
    assert why.startswith("no metastore answers: localhost")


async def test_a_key_distribution_centre_that_is_away_is_told_as_such(
    site: Site, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = tmp_path / "krb5.conf"
    address = site.realm.kdc.address
    config.write_text(
        site.realm.kdc.config.read_text().replace(address, f"127.0.0.1:{free_port()}")
    )
    monkeypatch.setenv("KRB5_CONFIG", str(config))
    why = await site.failure()
    assert "Cannot contact any KDC" in why


async def test_the_metastore_checks_tokens_that_are_not_in_the_database(
    site: Site, users: HiveUsers, log: WorkerLog
) -> None:
    settings = site.realm.worker(
        site.metastore,
        THRIFT_DELEGATION_TOKENS="true",
        THRIFT_DELEGATION_TOKEN_CHECK="metastore",
    )
    client = await asyncio.to_thread(users.client, "ann", site.metastore)
    issued: list[str] = [client.client.getDelegationToken("ann", "ann") for _ in range(2)]
    expired, cancelled = (Token(text, *read_token(text)) for text in issued)
    for token in (expired, cancelled):
        log.keep_out(token.text, token.identifier, token.password)
    log.keep_out(WRONG)
    async with serving(**settings, get_table=lambda _: answer("c")) as here:
        own = await here.connect()
        said = await log_in_by_token(own, expired)
        assert said.status == Frame.COMPLETE
        assert said.data.startswith(b"rspauth=")
        assert await own.call("get_table") is not None
        assert {call.client.user for call in here.methods.calls} == {"ann"}

        async def assert_refused(token: Token, password: str = "") -> None:
            said = await log_in_by_token(await here.connect(), token, password)
            assert said.status == Frame.BAD
            assert said.data.startswith(b"the metastores refuse the delegation token: it has exp")

        await assert_refused(cancelled, WRONG)
        # Java reads this token's own name in it, and another parser that of somebody else.
        other = cancelled.identifier.replace(b"ann", b"eve")
        mixed = f',baz=",username={base64.b64encode(other).decode()},z=",y=\x0b"'
        said = await log_in_by_token(
            await here.connect(), cancelled, username='foo=\x0b"bar,username={}' + mixed
        )
        assert said == (Frame.BAD, b"DIGEST-MD5: the response can't be read")
        client.client.cancelDelegationToken(cancelled.text)
        await assert_refused(cancelled)
        await asyncio.sleep(TOKEN_S)
        await assert_refused(expired)
    client.close()


async def test_no_metastore_that_could_check_a_token_is_told_as_such(site: Site) -> None:
    settings = site.realm.worker(
        f"thrift://localhost:{free_port()}",
        THRIFT_DELEGATION_TOKENS="true",
        THRIFT_DELEGATION_TOKEN_CHECK="metastore",
    )
    async with serving(**settings) as here:
        client = await here.connect()
        client.writer.write(frame(Frame.START, b"DIGEST-MD5") + frame(Frame.OK, b""))
        said = await heard(client)
        assert said == (Frame.BAD, b"delegation tokens can't be checked now: try again later")
