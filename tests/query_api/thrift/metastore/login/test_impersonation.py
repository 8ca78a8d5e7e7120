"""Calls are relayed as those of the client's user, whom a real metastore lets do more or less."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

import pytest
import sqlalchemy as sa
from py4j.protocol import Py4JJavaError

from hive.delegation_tokens import read_token
from hive.reader.engines import unpooled_engine
from query_api.database import Primary
from query_api.thrift.sasl.negotiation import Status
from tests.query_api.thrift.metastore.login.realm import (
    CORE,
    OWNER,
    HiveUsers,
    Realm,
    hive_users,
    realm,
)
from tests.query_api.thrift.sasl.clients import log_in_by_ticket
from tests.query_api.thrift.serving import Running, serving
from tests.query_api.thrift.structs import text
from tests.support.hive.client import HiveClient
from tests.support.hive.secure_metastore import STORAGE_BASED, secure_metastore
from tests.support.logins.kdc import HOST, REALM
from tests.support.logins.tickets import keep_tickets_out, session_with
from tests.support.worker_log import WorkerLog

pytestmark = [
    pytest.mark.logins,
    pytest.mark.hive,
    pytest.mark.timeout(900),
    pytest.mark.by_turns(4, of="logins"),
]
VAULT: Final = "vault"


class Site(NamedTuple):
    """A realm, a metastore with authorization in it, and its database."""

    realm: Realm
    metastore: str
    database_url: str
    users: HiveUsers


@pytest.fixture(scope="module")
def site(new_database: Callable[[], str]) -> Iterator[Site]:
    url = new_database()
    with (
        realm() as own,
        secure_metastore(own.kdc, own.service, url, core=CORE, properties=STORAGE_BASED) as address,
        hive_users(own) as users,
    ):
        client = users.client(OWNER, address)
        database = client.api.Database()
        database.setName(VAULT)
        client.client.createDatabase(database)
        location = client.client.getDatabase(VAULT).getLocationUri()
        _make_private(users, location)
        client.close()
        yield Site(own, address, url, users)


@pytest.fixture(autouse=True)
def _no_ticket_is_logged(site: Site, log: WorkerLog, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_tickets_out(log, monkeypatch, site.realm.own, site.realm.service)


def _make_private(users: HiveUsers, location: str) -> None:
    """Has only the owner of a folder read it."""
    hadoop = users.java.jvm.org.apache.hadoop
    path = hadoop.fs.Path(location)
    only_owner = hadoop.fs.permission.FsPermission("700")
    path.getFileSystem(hadoop.conf.Configuration()).setPermission(path, only_owner)


def said(ask: Callable[[HiveClient], Any], client: HiveClient) -> str:
    """What a client is told."""
    try:
        return str(ask(client))
    except Py4JJavaError as error:
        exception = error.java_exception
        return f"{exception.getClass().getSimpleName()}: {exception.getMessage()}"
    finally:
        client.close()


def read_vault(client: HiveClient) -> Any:
    return client.client.getDatabase(VAULT).getName()


def make_table(client: HiveClient) -> Any:
    """Creates a table in the vault and drops it again."""
    table = client.api.Table()
    table.setDbName(VAULT)
    table.setTableName("coins")
    table.setTableType("EXTERNAL_TABLE")
    table.setParameters({"EXTERNAL": "TRUE"})
    storage = client.api.StorageDescriptor()
    storage.setCols([client.api.FieldSchema("value", "int", "")])
    storage.setSerdeInfo(client.api.SerDeInfo())
    table.setSd(storage)
    client.client.createTable(table)
    client.client.dropTable(VAULT, "coins")
    return "made"


def url_of(here: Running) -> str:
    return f"thrift://{HOST}:{here.port}"


@pytest.mark.parametrize("ask", [read_vault, make_table])
async def test_a_metastore_refuses_one_user_and_not_another_as_directly(
    site: Site, ask: Callable[[HiveClient], Any]
) -> None:
    async with serving(**site.realm.worker(site.metastore)) as here:
        for user in (OWNER, "ann"):
            answers = []
            for address in (site.metastore, url_of(here)):
                client = await asyncio.to_thread(site.users.client, user, address)
                answers.append(await asyncio.to_thread(said, ask, client))
            assert answers[0] == answers[1]
            if user == OWNER:
                assert answers[1] in (VAULT, "made")
            else:
                assert "user=ann" in answers[1]
                assert "ermission denied" in answers[1]


async def test_without_impersonation_all_calls_are_the_workers_own(site: Site) -> None:
    settings = site.realm.worker(site.metastore, UPSTREAM_IMPERSONATE="false")
    async with serving(**settings) as here:
        client = await asyncio.to_thread(site.users.client, "ann", url_of(here))
        # This authorization lets pass whoever may act for others.
        assert await asyncio.to_thread(said, read_vault, client) == VAULT


async def refusal(site: Site, user: str, here: Running) -> str:
    """What a call of a user is told."""
    client = await here.connect()
    session = session_with(site.realm.users[user], f"{user}@{REALM}")
    assert (await log_in_by_ticket(client, session)).status == Status.COMPLETE
    reply = await client.call("get_database", text(1, VAULT) + b"\0")
    assert reply is not None
    return reply.body.decode(errors="replace")


async def test_a_user_for_whom_the_worker_may_not_act_is_told_so(site: Site) -> None:
    async with serving(**site.realm.worker(site.metastore)) as here:
        for _ in range(2):
            why = await refusal(site, "eve", here)
            assert f"doesn't let metatide@{REALM} act for eve@{REALM}" in why
            assert "not allowed to impersonate eve" in why
        assert "user=ann" in await refusal(site, "ann", here)


async def test_a_token_that_the_metastore_has_lost_is_replaced(site: Site, log: WorkerLog) -> None:
    delete = sa.text('DELETE FROM "DELEGATION_TOKENS"')
    async with serving(**site.realm.worker(site.metastore)) as here:
        tokens = here.server._hub.upstreams._impersonation._entries
        passwords = []
        for _ in range(2):
            assert "user=ann" in await refusal(site, "ann", here)
            ((_, user),) = tokens
            assert user == f"ann@{REALM}"
            (entry,) = tokens.values()
            assert entry.token is not None
            log.keep_out(entry.token.identifier, entry.token.password)
            passwords.append(entry.token.password)
            with unpooled_engine(sa.make_url(site.database_url)).begin() as connection:
                connection.execute(delete)
        assert passwords[0] != passwords[1]
    assert log.users("slow call") == {"ann"}


async def test_clients_of_a_user_share_one_token(site: Site) -> None:
    async with serving(**site.realm.worker(site.metastore)) as here:
        answers = await asyncio.gather(*(refusal(site, "ann", here) for _ in range(5)))
        assert all("user=ann" in answer for answer in answers)
        assert len(here.server._hub.upstreams._impersonation._entries) == 1
        assert here.server._hub.links.count == 5
        assert 'upstream_connections{kind="impersonated"} 5.0' in here.metrics()
        assert 'upstream_connections{kind="client"} 0.0' in here.metrics()


async def test_delegation_tokens_are_issued_renewed_and_cancelled_as_at_the_metastore(
    site: Site, log: WorkerLog
) -> None:
    primary = Primary(site.database_url)
    settings = site.realm.worker(
        site.metastore, primary.delegation_token, THRIFT_DELEGATION_TOKENS="true"
    )

    def use(address: str) -> None:
        owned = site.users.client("ann", address)
        token: str = owned.client.getDelegationToken(f"ann@{REALM}", "ann")
        read = read_token(token)
        log.keep_out(token, read.identifier, read.password)
        assert owned.client.renewDelegationToken(token) > 0
        for place in (address, site.metastore):
            client = site.users.client_with_token(token, place)
            assert "user=ann" in said(read_vault, client)
        owned.client.cancelDelegationToken(token)
        owned.close()
        with pytest.raises(Py4JJavaError) as caught:
            site.users.client_with_token(token, address)
        assert "the delegation token is unknown: it was cancelled" in str(
            caught.value.java_exception
        )

    async with serving(**settings) as here:
        await asyncio.to_thread(use, url_of(here))
    await primary.close()


async def test_who_may_get_tokens_for_whom_is_the_metastores_to_say(site: Site) -> None:
    def ask(owner: str) -> Callable[[HiveClient], Any]:
        return lambda client: len(client.client.getDelegationToken(owner, "hs2")) > 0

    async with serving(**site.realm.worker(site.metastore)) as here:
        for user, owner in (("hs2", "ann"), ("hs2", OWNER), ("ann", OWNER)):
            answers = []
            for address in (site.metastore, url_of(here)):
                client = await asyncio.to_thread(site.users.client, user, address)
                answers.append(await asyncio.to_thread(said, ask(owner), client))
            assert answers[0] == answers[1]
            is_allowed = (user, owner) == ("hs2", "ann")
            assert (answers[1] == "True") == is_allowed, answers
