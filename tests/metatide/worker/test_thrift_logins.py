"""A worker whose Thrift clients must log in, run as users run it."""

import asyncio
from collections.abc import Callable
from pathlib import Path

import pytest

from metatide.stack.machine import LOOPBACK
from metatide.stack.ports import Ports
from query_api.thrift.sasl.negotiation import Status
from query_api.thrift.sasl.unauthenticated import NEEDS_SASL_LOGIN
from tests.query_api.sales import sales
from tests.query_api.thrift.http_transport.clients import HttpClient, basic, call
from tests.query_api.thrift.sasl.clients import log_in
from tests.query_api.thrift.serving import Client
from tests.support.kafka.topics import new_topic
from tests.support.logins.certificates import Authority
from tests.support.logins.directory import USER_DN, directory
from tests.support.processes import open_folder
from tests.support.workers import WorkerProcess, workers

pytestmark = pytest.mark.logins
PASSWORD = "wonder#land of tides"


async def connect(port: int, authority: Authority) -> Client:
    return Client(*await asyncio.open_connection(LOOPBACK, port, ssl=authority.trusted))


async def connect_http(port: int, authority: Authority) -> HttpClient:
    return HttpClient(*await asyncio.open_connection(LOOPBACK, port, ssl=authority.trusted))


async def test_a_worker_lets_in_clients_that_log_in(
    kafka_broker: str, new_database: Callable[[], str], tmp_path: Path
) -> None:
    database_url = new_database()
    sales(database_url)
    authority = Authority(tmp_path / "authority")
    certificate, key = authority.sign("worker")
    ports = Ports(tmp_path / "ports.json")
    port, http_port = ports.take("thrift"), ports.take("thrift over HTTP")
    with (
        open_folder() as folder,
        directory(folder / "users", authority, {"ann": PASSWORD}) as users,
    ):
        worker = WorkerProcess(
            new_topic(kafka_broker, 1),
            tmp_path,
            "worker",
            METATIDE_DATABASE_URL=database_url,
            METATIDE_THRIFT_PORT=str(port),
            METATIDE_THRIFT_HTTP_PORT=str(http_port),
            METATIDE_THRIFT_TLS_CERTIFICATE=str(certificate),
            METATIDE_THRIFT_TLS_KEY=str(key),
            METATIDE_THRIFT_LDAP_URL=users.address,
            METATIDE_THRIFT_LDAP_USER_DN=USER_DN,
            METATIDE_THRIFT_LDAP_CA=str(authority.certificate),
        )
        with workers(worker):
            worker.until_ready(1)
            client = await connect(port, authority)
            assert await log_in(client, "ann", PASSWORD) == (Status.COMPLETE, b"")
            reply = await client.call("get_all_databases")
            assert reply is not None
            assert b"upstream.url" in reply.body, "there is no metastore to relay it to"
            wrong = await connect(port, authority)
            assert (await log_in(wrong, "ann", f"{PASSWORD}!")).status == Status.BAD
            stranger = await connect(port, authority)
            reply = await stranger.call("get_all_databases")
            assert reply is not None
            assert NEEDS_SASL_LOGIN.encode() in reply.body
            for password, status in ((PASSWORD, 200), (f"{PASSWORD}!", 401)):
                over_http = await connect_http(http_port, authority)
                request = call("get_all_databases", headers=basic("ann", password))
                said = await over_http.ask(request)
                assert said.status == status
                assert (b"upstream.url" in said.body) == (status == 200)
                over_http.close()
            for other in (client, wrong, stranger):
                await other.close()
    log = worker.log.read_text()
    assert "user 'ann': INVALID_CREDENTIALS" in log
    assert PASSWORD not in log
    assert basic("ann", PASSWORD)["authorization"].removeprefix("Basic ") not in log
