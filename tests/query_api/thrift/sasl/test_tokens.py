"""Clients that log in by delegation tokens, which a real metastore has issued."""

import asyncio
import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
import sqlalchemy as sa
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

from hive.delegation_tokens import _Source, read_stored, store_keys
from hive.reader.engines import unpooled_engine
from metatide.config import load
from metatide.config.values import ThriftUrl
from metatide.worker.logins import mechanisms
from metatide.worker.thrift import thrift_settings
from query_api.database import Primary
from query_api.thrift.java.gateway import OPTIONS
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.sasl.negotiation import Status
from query_api.thrift.sasl.tokens import Store
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.sasl.clients import Token, log_in_by_token
from tests.query_api.thrift.serving import answer, serving, until
from tests.support.hive.client import HiveClient, log_in_by_keytab
from tests.support.hive.java import hive_java
from tests.support.hive.metastore import Instances
from tests.support.hive.secure_metastore import secure_metastore
from tests.support.logins.kdc import HOST, REALM, SERVICE, kdc
from tests.support.logins.tickets import clients_of
from tests.support.processes import open_folder
from tests.support.worker_log import WorkerLog

pytestmark = [
    pytest.mark.logins,
    pytest.mark.hive,
    pytest.mark.timeout(900),
    pytest.mark.by_turns(4, of="logins"),
]
PROPERTIES: Final = {
    "metastore.sasl.enabled": "true",
    "metastore.kerberos.principal": f"hive/_HOST@{REALM}",
    "metastore.connect.retries": "1",
    "metastore.thrift.failure.retries": "0",
}
TOKEN_NAME: Final = "metatide"


class Issuer(NamedTuple):
    """A metastore that issues tokens, and its client of Hive."""

    java: JavaGateway
    client: HiveClient
    database_url: str
    primary: Primary
    keytab: Path

    def issue(self, owner: str = "ann") -> Token:
        text: str = self.client.client.getDelegationToken(owner, "ann")
        source = _Source(base64.urlsafe_b64decode(text + "=="))
        return Token(text, source.take(source.number()), source.take(source.number()))

    def settings(self, store: Store | None = None) -> ThriftSettings:
        environ = {
            "METATIDE_THRIFT_KERBEROS_PRINCIPAL": f"hive/_HOST@{REALM}",
            "METATIDE_THRIFT_KERBEROS_KEYTAB": str(self.keytab),
            "METATIDE_THRIFT_DELEGATION_TOKENS": "true",
            "METATIDE_THRIFT_SLOW_MS": "1",
        }
        thrift = load(environ=environ).config.thrift
        logins = mechanisms(thrift, HOST, store or self.primary.delegation_token)
        return thrift_settings(thrift, None, logins)

    async def refusal(self, token: Token, password: str = "", store: Store | None = None) -> str:
        """Why a client with this token is refused."""
        async with serving(settings=self.settings(store)) as here:
            said = await log_in_by_token(await here.connect(), token, password)
            assert said.status == Status.BAD
            line = 'metatide_thrift_refused_total{reason="login"} 1.0'
            await until(lambda: line in here.metrics())
        return said.data.decode()


@pytest.fixture(scope="module")
def issuer(new_database: Any) -> Iterator[Issuer]:
    url = new_database()
    with open_folder() as folder, kdc(folder) as realm, clients_of(realm):
        ann, service = realm.keytab("ann"), realm.keytab(SERVICE)
        options = (*OPTIONS, f"-Djava.security.krb5.conf={realm.config}")
        with (
            secure_metastore(realm, service, url) as address,
            hive_java(options, release="4.0.1") as java,
        ):
            log_in_by_keytab(java, f"ann@{REALM}", ann, PROPERTIES)
            client = HiveClient(java, address, PROPERTIES)
            primary = Primary(url)
            yield Issuer(java, client, url, primary, service)
            asyncio.run(primary.close())


@pytest.fixture(autouse=True)
def _no_token_is_logged(log: WorkerLog, monkeypatch: pytest.MonkeyPatch) -> None:
    issue = Issuer.issue

    def remembered(issuer: Issuer, owner: str = "ann") -> Token:
        token = issue(issuer, owner)
        log.keep_out(token.text, token.identifier, token.password)
        return token

    monkeypatch.setattr(Issuer, "issue", remembered)


async def test_hives_own_client_logs_in(
    issuer: Issuer, metastore: Instances, log: WorkerLog
) -> None:
    upstream = UpstreamSettings((ThriftUrl(metastore.addresses[0]).address,))
    tokens = [issuer.issue(), issuer.issue(f"ann@{REALM}")]
    properties = {**PROPERTIES, "metastore.token.signature": TOKEN_NAME}

    def use(address: str, token: Token) -> Sequence[str]:
        jvm = issuer.java.jvm
        user = jvm.org.apache.hadoop.security.UserGroupInformation.getCurrentUser()
        utilities = jvm.org.apache.hadoop.hive.metastore.utils.SecurityUtils
        utilities.setTokenStr(user, token.text, TOKEN_NAME)
        client = HiveClient(issuer.java, address, properties)
        databases = [*client.client.getAllDatabases()]
        client.close()
        return databases

    async with serving(upstream=upstream, settings=issuer.settings()) as here:
        for token in tokens:
            databases = await asyncio.to_thread(use, f"thrift://{HOST}:{here.port}", token)
            assert "default" in databases
        assert 'metatide_thrift_logins_total{mechanism="DIGEST-MD5"} 2.0' in here.metrics()
    assert log.users("slow call") == {"ann"}


async def test_a_token_is_accepted_until_it_is_cancelled(issuer: Issuer) -> None:
    token = issuer.issue()
    async with serving(settings=issuer.settings(), get_table=lambda _: answer("c")) as here:
        client = await here.connect()
        said = await log_in_by_token(client, token)
        assert said.status == Status.COMPLETE
        assert said.data.startswith(b"rspauth=")
        issuer.client.client.cancelDelegationToken(token.text)
        assert (await log_in_by_token(await here.connect(), token)).data.startswith(
            b"the delegation token is unknown: it was cancelled"
        )


async def test_an_expired_token_is_refused(issuer: Issuer) -> None:
    token = issuer.issue()
    with unpooled_engine(sa.make_url(issuer.database_url)).begin() as connection:
        key = {"key": store_keys(token.identifier)[0]}
        select = 'SELECT "TOKEN" FROM "DELEGATION_TOKENS" WHERE "TOKEN_IDENT" = :key'
        stored = connection.execute(sa.text(select), key).scalar_one()
        assert read_stored(stored).password == token.password
        whole = base64.urlsafe_b64decode(stored)
        ended = base64.urlsafe_b64encode(whole[:-8] + (1_000).to_bytes(8, "big")).decode()
        update = 'UPDATE "DELEGATION_TOKENS" SET "TOKEN" = :token WHERE "TOKEN_IDENT" = :key'
        connection.execute(sa.text(update), {**key, "token": ended})
    assert await issuer.refusal(token) == "the delegation token has expired"


async def test_a_wrong_password_and_other_identifiers_are_refused(
    issuer: Issuer, log: WorkerLog
) -> None:
    token = issuer.issue()
    log.keep_out("its-password")
    wrong = await issuer.refusal(token, "its-password")
    assert wrong == "the delegation token's password is wrong"
    changed = token._replace(identifier=token.identifier[:-1] + b"\x63")
    assert "these metastores didn't issue it" in await issuer.refusal(changed)
    for identifier in (b"\1" + token.identifier, b"", b"x" * 2_000, token.identifier + b"\0"):
        why = await issuer.refusal(token._replace(identifier=identifier))
        assert why.startswith("DIGEST-MD5: ")
    assert log.entries


async def test_a_store_that_is_away_is_told_as_such(issuer: Issuer) -> None:
    away = Primary("postgresql://nobody@127.0.0.1:1/nothing")
    why = await issuer.refusal(issuer.issue(), store=away.delegation_token)
    assert why == "delegation tokens can't be checked now: try again later"
    await away.close()


async def test_owners_of_other_realms_are_refused(issuer: Issuer) -> None:
    token = issuer.issue(f"ann@{REALM}")
    other = token.identifier.replace(REALM.encode(), b"OTHER.TEST")
    why = await issuer.refusal(token._replace(identifier=other))
    assert f"isn't a user of the realm {REALM}" in why


def test_the_metastore_itself_refuses_what_is_refused_here(issuer: Issuer) -> None:
    token = issuer.issue()
    issuer.client.client.cancelDelegationToken(token.text)
    with pytest.raises(Py4JJavaError):
        issuer.client.client.renewDelegationToken(token.text)
