"""Clients of HTTP that log in by Basic, with passwords that a directory checks."""

import asyncio
import base64
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from py4j.protocol import Py4JJavaError

from hive.errors import RefusedLoginError
from metatide.config.thrift import Thrift
from metatide.config.values import ThriftUrl
from metatide.stack.machine import free_port
from query_api.thrift.http_transport import basic as basic_scheme
from query_api.thrift.http_transport.basic import Basic
from query_api.thrift.metastore.client_identity import SET_UGI
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.configured import configured, settings_of
from tests.query_api.thrift.http_transport.clients import (
    Answer,
    HttpRunning,
    basic,
    call,
    post,
    serving_http,
)
from tests.query_api.thrift.methods.wire import arguments
from tests.query_api.thrift.serving import HOST, Metastore, answer, result, until
from tests.query_api.thrift.structs import message
from tests.support.hive.client import HiveClient
from tests.support.hive.java import hive_java
from tests.support.hive.metastore import Instances
from tests.support.logins.certificates import STORE_PASSWORD, Authority
from tests.support.logins.directory import USER_DN, Directory, directory
from tests.support.processes import open_folder
from tests.support.worker_log import WorkerLog

pytestmark = pytest.mark.logins
PASSWORDS: Final = {"ann": "wonder#land of tides", "bob": "böb's: own"}
WRONG: Final = "not her secret"
METHODS: Final[dict[str, Any]] = {"get_table": lambda _: answer("c")}


class Place(NamedTuple):
    """A directory, and who signed its certificate."""

    authority: Authority
    directory: Directory

    def thrift(self, **more: str) -> Thrift:
        """The configuration of a Thrift server that asks it."""
        keys = {
            "PORT": 0,
            "HTTP_PORT": 0,
            "LDAP_URL": self.directory.address,
            "LDAP_USER_DN": USER_DN,
            "LDAP_CA": self.authority.certificate,
        }
        return configured(self.authority, **keys | more)

    def settings(self, **more: str) -> ThriftSettings:
        return settings_of(self.thrift(**more))


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with open_folder() as folder:
        authority = Authority(folder / "authority")
        with directory(folder / "directory", authority, PASSWORDS) as server:
            yield Place(authority, server)


@pytest.fixture(autouse=True)
def _no_password_is_logged(log: WorkerLog) -> None:
    for user, password in (*PASSWORDS.items(), ("ann", WRONG)):
        log.keep_out(password, f"{user}:{password}")


async def ask(
    here: HttpRunning, place: Place, headers: dict[str, str], method: str = "get_table"
) -> Answer:
    return await here.ask(call(method, headers=headers), ssl=place.authority.trusted)


async def test_a_client_with_the_right_password_is_served(place: Place) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        for user, password in PASSWORDS.items():
            client = await here.connect(ssl=place.authority.trusted)
            for _ in range(3):
                said = await client.ask(call("get_table", headers=basic(user, password)))
                assert (said.status, said.body) == (200, message("get_table", result("c"), kind=2))
            assert here.users()[-1] == user
        assert 'metatide_thrift_logins_total{mechanism="Basic"} 2.0' in here.metrics()
        assert here.bytes_in_flight == 0


@pytest.mark.parametrize(
    ("headers", "kind", "why"),
    [
        ({}, "unauthenticated", "send the header Authorization with Basic"),
        (basic("ann", WRONG), "login", "wrong user name or password"),
        (basic("ann", ""), "login", "wrong user name or password"),
        (basic("", ""), "login", "wrong user name or password"),
        (basic("eve", WRONG), "login", "wrong user name or password"),
        (basic("ann,cn=users", PASSWORDS["ann"]), "login", "wrong user name or password"),
        ({"authorization": "Basic !"}, "login", "Basic's credentials are"),
        ({"authorization": "Basic"}, "login", "Basic's credentials are"),
        ({"authorization": "Basic YW5u"}, "login", "Basic's credentials are"),
        ({"authorization": f"Bearer {WRONG}"}, "login", "send Basic"),
        ({"authorization": WRONG}, "login", "send Basic"),
        ({"authorization": f"Basic {'y' * 33_000}"}, "login", "bytes"),
        ({"x-actor-username": "ann"}, "unauthenticated", "send the header Authorization"),
    ],
)
async def test_all_others_are_refused_with_the_reason(
    place: Place, headers: dict[str, str], kind: str, why: str
) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        said = await ask(here, place, headers)
        assert said.status == 401
        assert said.header("www-authenticate") == 'Basic realm="metatide", charset="UTF-8"'
        assert why in said.body.decode()
        assert not here.running.methods.calls
        assert f'metatide_thrift_refused_total{{reason="{kind}"}} 1.0' in here.metrics()
        assert "metatide_thrift_logins_total{" not in here.metrics()


async def test_each_request_of_a_connection_is_checked(place: Place) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        client = await here.connect(ssl=place.authority.trusted)
        for headers, status in (
            (basic("ann", PASSWORDS["ann"]), 200),
            ({}, 401),
            (basic("ann", WRONG), 401),
            (basic("bob", PASSWORDS["bob"]), 200),
            (basic("ann", PASSWORDS["ann"]), 200),
        ):
            said = await client.ask(call("get_table", headers=headers))
            assert (said.status, said.keeps_open) == (status, True)
        assert 'metatide_thrift_logins_total{mechanism="Basic"} 3.0' in here.metrics()


async def test_a_password_is_checked_again_after_a_while(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    checked = []

    class Passwords:
        async def check(self, user: str, password: str) -> str:
            checked.append(user)
            if len(checked) > 2:
                raise RefusedLoginError("not any more")
            return user

    def settings() -> ThriftSettings:
        login = {"basic": Basic(Passwords())}
        http = place.settings().http
        return ThriftSettings(http=type(http)(http.path, login))

    headers = basic("ann", PASSWORDS["ann"])
    for valid_s, statuses, times in ((0.0, [200, 200, 401], 3), (300.0, [200] * 3, 1)):
        checked.clear()
        monkeypatch.setattr(basic_scheme, "VALID_S", valid_s)
        async with serving_http(settings=settings(), **METHODS) as here:
            client = await here.connect()
            said = [await client.ask(call("get_table", headers=headers)) for _ in range(3)]
            assert [response.status for response in said] == statuses
            assert len(checked) == times


async def test_no_answer_of_a_directory_is_told_as_such(place: Place) -> None:
    away = f"ldaps://{HOST}:{free_port()}"
    async with serving_http(settings=place.settings(LDAP_URL=away), **METHODS) as here:
        said = await ask(here, place, basic("ann", PASSWORDS["ann"]))
        assert said.status == 401
        assert b"no directory can check the password now" in said.body


async def test_a_body_is_not_read_before_the_login(place: Place) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        client = await here.connect(ssl=place.authority.trusted)
        large = {"content-length": str(50 << 20), "expect": "100-continue"}
        said = await client.ask(post(b"", {**large, **basic("ann", WRONG)}))
        assert (said.status, said.keeps_open) == (401, False)
        client = await here.connect(ssl=place.authority.trusted)
        client.writer.write(post(b"", {**large, **basic("ann", PASSWORDS["ann"])}))
        assert await client.reader.readuntil(b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"


async def test_metastores_are_told_who_has_logged_in_whatever_the_client_says(
    place: Place,
) -> None:
    metastore = Metastore()
    async with serving_http(metastore, settings=place.settings()) as here:
        client = await here.connect(ssl=place.authority.trusted)
        headers = {**basic("ann", PASSWORDS["ann"]), "x-actor-username": "root"}
        ugi = message(SET_UGI, arguments(SET_UGI, "root", ["wheel"]))
        assert (await client.ask(post(ugi, headers))).status == 200
        assert (await client.ask(call("create_database", headers=headers))).status == 200
        assert metastore.heard == [SET_UGI, "create_database"]
        assert b"ann" in metastore.calls[0]
        assert b"root" not in b"".join(metastore.calls)


async def test_the_log_names_who_has_logged_in(place: Place, log: WorkerLog) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        client = await here.connect(ssl=place.authority.trusted)
        headers = basic("ann", PASSWORDS["ann"])
        await client.ask(call("get_table", headers=headers))
        await client.ask(post(b"no call", headers))
        assert await client.is_ended()
        await ask(here, place, basic("eve", WRONG))
        await until(lambda: 'refused_total{reason="protocol"} 1.0' in here.metrics())
    ended = {entry["reason"]: entry for entry in log.entries if "reason" in entry}
    assert ended["protocol"]["user"] == "ann"
    assert ended["login"]["why"] == "user 'eve': INVALID_CREDENTIALS"


@pytest.mark.hive
@pytest.mark.timeout(600)
async def test_hives_own_client_logs_in(place: Place, metastore: Instances, log: WorkerLog) -> None:
    upstream = UpstreamSettings((ThriftUrl(metastore.addresses[0]).address,))

    def properties(password: str | None) -> dict[str, str]:
        more = {}
        if password is not None:
            text = base64.b64encode(f"ann:{password}".encode()).decode()
            more["metastore.client.http.additional.headers"] = f"Authorization=Basic {text}"
        return {
            "metastore.client.thrift.transport.mode": "http",
            "metastore.client.auth.mode": "NOSASL",
            "metastore.client.plain.username": "ann",
            "metastore.use.SSL": "true",
            "metastore.truststore.path": str(trust),
            "metastore.truststore.password": STORE_PASSWORD,
            "metastore.trustmanagerfactory.algorithm": "PKIX",
            "metastore.connect.retries": "1",
            "metastore.thrift.failure.retries": "0",
            **more,
        }

    trust: Path = place.authority.java_trust()

    def use(address: str) -> tuple[Sequence[str], list[str]]:
        with hive_java() as java:
            client = HiveClient(java, address, properties(PASSWORDS["ann"]))
            databases = [*client.client.getAllDatabases()]
            client.close()
            refusals = []
            for password in (WRONG, None):
                with pytest.raises(Py4JJavaError) as caught:
                    HiveClient(java, address, properties(password)).client.getAllDatabases()
                refusals.append(str(caught.value.java_exception))
            return databases, refusals

    settings = place.settings(SLOW_MS="1")
    async with serving_http(upstream=upstream, settings=settings) as here:
        databases, refusals = await asyncio.to_thread(use, f"thrift://{HOST}:{here.port}")
    assert "default" in databases
    assert ["401" in why for why in refusals] == [True, True]
    assert log.users("slow call") == {"ann"}
