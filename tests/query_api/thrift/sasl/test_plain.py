"""Clients that log in by PLAIN, with passwords that a directory checks."""

import asyncio
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from msgspec.structs import replace
from py4j.protocol import Py4JJavaError

from hive.errors import RefusedLoginError
from metatide.config.thrift import Thrift
from metatide.config.values import ThriftUrl
from metatide.stack.machine import free_port
from query_api.peers import Peers, SecretFile
from query_api.thrift.metastore.client_identity import SET_UGI
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.protocol.frames import Frames
from query_api.thrift.sasl.ldap import Directories
from query_api.thrift.sasl.negotiation import Status, frame
from query_api.thrift.sasl.plain import CHARS_MAX, Plain
from query_api.thrift.sasl.unauthenticated import NEEDS_SASL_LOGIN
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.configured import configured, settings_of
from tests.query_api.thrift.methods.wire import arguments
from tests.query_api.thrift.sasl.clients import heard, log_in
from tests.query_api.thrift.serving import (
    HOST,
    Client,
    Metastore,
    Running,
    answer,
    result,
    serving,
    until,
)
from tests.query_api.thrift.structs import compacted, message
from tests.support.hive.client import HiveClient
from tests.support.hive.java import hive_java
from tests.support.hive.metastore import Instances
from tests.support.logins.certificates import STORE_PASSWORD, Authority
from tests.support.logins.directory import USER_DN, Directory, directory
from tests.support.processes import open_folder
from tests.support.worker_log import WorkerLog

pytestmark = pytest.mark.logins
PASSWORDS: Final = {"ann": "wonder#land of tides", "bob": "böb's own", "straße": "a long road"}
WRONG: Final = "not her secret"


class Place(NamedTuple):
    """A directory, and who signed its certificate."""

    folder: Path
    authority: Authority
    directory: Directory

    def thrift(self, **more: str) -> Thrift:
        """The configuration of a Thrift server that asks it."""
        keys = {
            "LDAP_URL": self.directory.address,
            "LDAP_USER_DN": USER_DN,
            "LDAP_CA": self.authority.certificate,
        }
        return configured(self.authority, **keys | more)

    def settings(self, **more: str) -> ThriftSettings:
        return settings_of(self.thrift(**more))

    async def connect(self, here: Running) -> Client:
        return await here.connect(ssl=self.authority.trusted)


@pytest.fixture(scope="module")
def place() -> Iterator[Place]:
    with open_folder() as folder:
        authority = Authority(folder / "authority")
        with directory(folder / "directory", authority, PASSWORDS) as server:
            yield Place(folder, authority, server)


@pytest.fixture(autouse=True)
def _no_password_is_logged(log: WorkerLog) -> None:
    log.keep_out(*PASSWORDS.values(), WRONG)


async def get(client: Client) -> bytes | None:
    reply = await client.call("get_table")
    return None if reply is None else reply.body


async def test_a_client_with_the_right_password_is_served(place: Place) -> None:
    async with serving(settings=place.settings(), get_table=lambda _: answer("c")) as here:
        for user, password in PASSWORDS.items():
            client = await place.connect(here)
            assert await log_in(client, user, password) == (Status.COMPLETE, b"")
            assert await get(client) == result("c")
            assert await get(client) == result("c")
            assert here.methods.calls[-1].client.user == user
        assert 'metatide_thrift_logins_total{mechanism="PLAIN"} 3.0' in here.metrics()
        assert here.server._budget.bytes == 0


@pytest.mark.parametrize(
    ("spelled", "user"), [("ANN", "ann"), ("Ann", "ann"), ("Straße", "straße")]
)
async def test_a_name_is_that_of_one_user_whatever_its_case(
    place: Place, spelled: str, user: str
) -> None:
    async with serving(settings=place.settings(), get_table=lambda _: answer("c")) as here:
        client = await place.connect(here)
        assert await log_in(client, spelled, PASSWORDS[user]) == (Status.COMPLETE, b"")
        await get(client)
        assert here.methods.calls[-1].client.user == user


async def test_spellings_that_a_directory_unites_are_one_user(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def let_in(*_: object) -> int:
        return 0

    monkeypatch.setattr(Directories, "_bind", let_in)
    directories = Directories(((HOST, 636),), USER_DN, place.authority.trusted)
    assert await directories.check("straße", "any") == "strasse"


@pytest.mark.parametrize(
    ("user", "password", "acts_for", "why"),
    [
        ("ann", WRONG, "", b"wrong user name or password"),
        ("ann", "", "", b"wrong user name or password"),
        ("", "", "", b"wrong user name or password"),
        ("eve", WRONG, "", b"wrong user name or password"),
        ("ann,cn=users", PASSWORDS["ann"], "", b"wrong user name or password"),
        (" ann", PASSWORDS["ann"], "", b"wrong user name or password"),
        ("ａnn", PASSWORDS["ann"], "", b"wrong user name or password"),
        ("ann\ufe0f", PASSWORDS["ann"], "", b"wrong user name or password"),
        ("a\u034fnn", PASSWORDS["ann"], "", b"wrong user name or password"),
        ("ann", "x" * (CHARS_MAX + 1), "", b"wrong user name or password"),
        ("ann", PASSWORDS["ann"], "bob", b"a user can't log in for another one by PLAIN"),
        ("ann\0ann", WRONG, "", b"PLAIN's response is a name and a password"),
    ],
)
async def test_all_others_are_refused_with_the_reason(
    place: Place, user: str, password: str, acts_for: str, why: bytes
) -> None:
    async with serving(settings=place.settings(), get_table=lambda _: answer("c")) as here:
        client = await place.connect(here)
        assert await log_in(client, user, password, acts_for) == (Status.BAD, why)
        assert await client.reader.read() == b""
        await until(lambda: 'metatide_thrift_refused_total{reason="login"} 1.0' in here.metrics())
        assert "metatide_thrift_logins_total{" not in here.metrics()


async def test_a_client_without_sasl_is_refused_whatever_it_calls(place: Place) -> None:
    async with serving(settings=place.settings(), get_table=lambda _: answer("c")) as here:
        first = await place.connect(here)
        for method in ("get_table", SET_UGI, "get_all_databases", "metatide.forward"):
            client = await place.connect(here)
            reply = await client.call(method)
            assert reply is not None
            assert reply.kind == 3
            assert NEEDS_SASL_LOGIN.encode() in reply.body
            assert await client.reply() is None
        assert await log_in(first, "ann", PASSWORDS["ann"]) == (Status.COMPLETE, b"")
        assert await get(first) == result("c")
        assert not here.methods.calls[:-1]
        line = 'metatide_thrift_refused_total{reason="unauthenticated"} 4.0'
        await until(lambda: line in here.metrics())


@pytest.mark.parametrize("is_framed", [False, True])
@pytest.mark.parametrize("is_compact", [False, True])
async def test_no_transport_or_protocol_stands_in_for_a_login(
    place: Place, is_framed: bool, is_compact: bool
) -> None:
    async with serving(settings=place.settings(), get_table=lambda _: answer("c")) as here:
        client = await place.connect(here)
        call = message("get_table", b"\0")
        call = compacted(call) if is_compact else call
        client.writer.write(Frames().framed(call) if is_framed else call)
        said = await client.reader.read()
        assert NEEDS_SASL_LOGIN.encode() in said
        assert not here.methods.calls
        line = 'metatide_thrift_refused_total{reason="unauthenticated"} 1.0'
        await until(lambda: line in here.metrics())


async def test_calls_are_not_read_before_the_login_has_ended(place: Place) -> None:
    async with serving(settings=place.settings(), get_table=lambda _: answer("c")) as here:
        client = await place.connect(here)
        client.writer.write(frame(Status.START, b"PLAIN"))
        call = message("get_table", b"\0")
        client.writer.write(len(call).to_bytes(4, "big") + call)
        assert (await heard(client)).status == Status.BAD
        eager = await place.connect(here)
        response = frame(Status.COMPLETE, b"\0ann\0" + PASSWORDS["ann"].encode())
        eager.writer.write(frame(Status.START, b"PLAIN") + response + call)
        assert (await heard(eager)).status == Status.BAD
        assert not here.methods.calls


async def test_a_client_that_never_ends_its_login_is_ended(place: Place) -> None:
    settings = place.settings()
    settings = ThriftSettings(
        tls=settings.tls, mechanisms=settings.mechanisms, message_timeout_s=0.3
    )
    async with serving(settings=settings) as here:
        silent, slow = await place.connect(here), await place.connect(here)
        data = frame(Status.START, b"PLAIN") + frame(Status.OK, b"\0ann\0")[:-1]
        slow.writer.write(data)
        await until(lambda: here.server._budget.bytes == len(frame(Status.OK, b"\0ann\0")) - 1)
        for client in (silent, slow):
            async with asyncio.timeout(60):
                await client.reader.read()
        await until(lambda: 'metatide_thrift_refused_total{reason="slow"} 2.0' in here.metrics())
        assert here.server._budget.bytes == 0


async def test_no_answer_of_a_directory_is_told_as_such_and_the_next_is_asked(
    place: Place,
) -> None:
    away = f"ldaps://{HOST}:{free_port()}"
    nobody = (Status.BAD, b"no directory can check the password now: try again later")
    both = f"{away},{place.directory.address}"
    for urls, expected in ((away, nobody), (both, (Status.COMPLETE, b""))):
        async with serving(settings=place.settings(LDAP_URL=urls)) as here:
            client = await place.connect(here)
            assert await log_in(client, "ann", PASSWORDS["ann"]) == expected


async def test_a_directory_whose_certificate_nobody_signed_is_told_no_password(
    place: Place, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path / "stranger")
    async with serving(settings=place.settings(LDAP_CA=str(stranger.certificate))) as here:
        said = await log_in(await place.connect(here), "ann", PASSWORDS["ann"])
        assert said == (Status.BAD, b"no directory can check the password now: try again later")


async def test_metastores_are_told_who_has_logged_in_whatever_the_client_says(
    place: Place,
) -> None:
    metastore = Metastore()
    async with serving(metastore, settings=place.settings()) as here:
        client = await place.connect(here)
        await log_in(client, "ann", PASSWORDS["ann"])
        for _ in range(2):
            reply = await client.call(SET_UGI, arguments(SET_UGI, "root", ["wheel"]))
            assert reply is not None
            assert reply.kind == 2
            assert await client.call("create_database") is not None
        assert metastore.heard == [SET_UGI, "create_database", "create_database"]
        assert b"ann" in metastore.calls[0]
        assert b"root" not in b"".join(metastore.calls)
        client.send(message(SET_UGI, arguments(SET_UGI, "root", []), kind=4))
        reply = await client.reply()
        assert reply is not None
        assert b"expected a call" in reply.body
        assert await client.reply() is None
        assert metastore.heard.count(SET_UGI) == 1


async def test_the_log_and_differences_name_who_has_logged_in(place: Place, log: WorkerLog) -> None:
    settings = replace(place.settings(), shadow=True)
    async with serving(Metastore(), settings=settings, get_table=lambda _: answer("c")) as here:
        client = await place.connect(here)
        await log_in(client, "ann", PASSWORDS["ann"])
        assert await get(client) == result("m:get_table")
        await until(lambda: bool(here.server.differences))
        client.send(b"no call")
        assert await client.reply() is None
        await until(lambda: 'refused_total{reason="protocol"} 1.0' in here.metrics())
        assert [difference.user for difference in here.server.differences] == ["ann"]
        assert "ann" not in here.metrics()
    for event in ("a client's connection was ended", "the cache would have answered differently"):
        assert log.users(event) == {"ann"}


async def test_workers_still_ask_each_other_by_their_own_proof(
    place: Place, workers_secret: Path
) -> None:
    more = {"peers": Peers(SecretFile(workers_secret))}
    async with serving(settings=place.settings(), more=more) as here:
        client = await place.connect(here)
        reply = await client.call("metatide.forward")
        assert reply is not None
        assert b"this call doesn't prove it" in reply.body


@pytest.mark.hive
async def test_hives_own_client_logs_in(place: Place, metastore: Instances, log: WorkerLog) -> None:
    upstream = UpstreamSettings((ThriftUrl(metastore.addresses[0]).address,))
    properties = {
        "metastore.client.auth.mode": "PLAIN",
        "metastore.client.plain.username": "ann",
        "metastore.use.SSL": "true",
        "metastore.truststore.path": str(place.authority.java_trust()),
        "metastore.truststore.password": STORE_PASSWORD,
        "metastore.connect.retries": "1",
        "metastore.thrift.failure.retries": "0",
        "ann": PASSWORDS["ann"],
    }
    without_login = {"metastore.client.auth.mode": "NOSASL", "metastore.execute.setugi": "false"}

    def use(address: str) -> tuple[Sequence[str], list[str]]:
        with hive_java() as java:
            client = HiveClient(java, address, properties)
            databases = [*client.client.getAllDatabases()]
            client.close()
            refusals = []
            for changed in ({"ann": WRONG}, without_login):
                with pytest.raises(Py4JJavaError) as caught:
                    HiveClient(java, address, {**properties, **changed}).client.getAllDatabases()
                refusals.append(str(caught.value.java_exception))
            return databases, refusals

    settings = place.settings(SLOW_MS="1")
    async with serving(upstream=upstream, settings=settings) as here:
        databases, refusals = await asyncio.to_thread(use, f"thrift://{HOST}:{here.port}")
    assert "default" in databases
    assert "wrong user name or password" in refusals[0]
    assert "prove who they are" in refusals[1]
    assert log.users("slow call") == {"ann"}


async def test_a_name_is_checked_before_a_directory_is_asked() -> None:
    class Nobody:
        async def check(self, user: str, _: str) -> str:
            raise AssertionError(f"{user} was asked for")

    with pytest.raises(RefusedLoginError) as caught:
        await Plain(Nobody()).answer(b"\0ann\0")
    assert caught.value.details == "user 'ann' sent no password"
