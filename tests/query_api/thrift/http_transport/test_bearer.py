"""Clients of HTTP that log in by tokens, which the keys of an issuer check."""

import asyncio
import base64
import json
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import jwt
import pytest
from py4j.protocol import Py4JJavaError

from metatide.config.values import ThriftUrl
from query_api.thrift.http_transport import key_set
from query_api.thrift.http_transport.bearer import SKEW_S
from query_api.thrift.metastore.client_identity import SET_UGI
from query_api.thrift.metastore.upstream import UpstreamSettings
from query_api.thrift.sasl.unauthenticated import NEEDS_HTTP_LOGIN
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.configured import configured, settings_of
from tests.query_api.thrift.http_transport.clients import Answer, HttpRunning, call, serving_http
from tests.query_api.thrift.http_transport.issuer import (
    AUDIENCE,
    ISSUER,
    Issuer,
    bearer,
    keep_tokens_out,
    serving_keys,
)
from tests.query_api.thrift.serving import HOST, Metastore, answer, until
from tests.support.hive.client import HiveClient
from tests.support.hive.java import hive_java
from tests.support.hive.metastore import Instances
from tests.support.logins.certificates import STORE_PASSWORD, Authority
from tests.support.worker_log import WorkerLog

METHODS: Final[dict[str, Any]] = {"get_table": lambda _: answer("c")}


class Place(NamedTuple):
    """An issuer, a file with its keys, and who signs certificates."""

    issuer: Issuer
    file: Path
    authority: Authority

    def write(self) -> None:
        """Writes the keys into the file, as those do that replace it by another one."""
        partial = self.file.with_suffix(".partial")
        partial.write_bytes(self.issuer.key_set())
        partial.replace(self.file)

    def settings(self, keys: str | None = None, **more: str) -> ThriftSettings:
        of_jwt = {
            "PORT": 0,
            "HTTP_PORT": 0,
            "JWT_KEYS": keys or self.file,
            "JWT_ISSUER": ISSUER,
            "JWT_AUDIENCE": AUDIENCE,
            "JWT_CA": self.authority.certificate,
        }
        return settings_of(configured(self.authority, **of_jwt | more))

    async def ask(self, here: HttpRunning, headers: dict[str, str]) -> Answer:
        return await here.ask(call("get_table", headers=headers), ssl=self.authority.trusted)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    issuer = Issuer()
    issuer.add("first")
    made = Place(issuer, tmp_path / "keys.json", Authority(tmp_path / "authority"))
    made.write()
    return made


@pytest.fixture(autouse=True)
def _no_token_is_logged(log: WorkerLog, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_tokens_out(log, monkeypatch)


@pytest.mark.parametrize("algorithm", ["ES256", "RS256", "RS512", "PS256", "EdDSA"])
async def test_a_client_with_a_token_is_served(place: Place, algorithm: str) -> None:
    place.issuer.add("second", algorithm)
    place.write()
    async with serving_http(settings=place.settings(), **METHODS) as here:
        client = await here.connect(ssl=place.authority.trusted)
        for user in ("ann", "ann", "bob@example.com"):
            headers = bearer(place.issuer.token(user))
            assert (await client.ask(call("get_table", headers=headers))).status == 200
            assert here.users()[-1] == user
        assert 'metatide_thrift_logins_total{mechanism="JWT"} 2.0' in here.metrics()
        assert here.bytes_in_flight == 0


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"lives_s": -SKEW_S - 5}, "the token has expired"),
        ({"nbf": time.time() + 3600}, "the token isn't valid yet"),
        ({"aud": "another"}, "the token is for another audience"),
        ({"aud": None}, "the token lacks the claim aud"),
        ({"iss": "https://evil.example.com"}, "the token is of another issuer"),
        ({"exp": None}, "the token lacks the claim exp"),
        ({"exp": "soon"}, "the token can't be read"),
        ({"user": "a b"}, "subject can't be the name of a user"),
        ({"user": "x" * 300}, "subject can't be the name of a user"),
        ({"sub": None}, "the token lacks the claim sub"),
        ({"head": {"kid": "unknown"}}, "signed by an unknown key"),
    ],
)
async def test_other_tokens_are_refused_with_the_reason(
    place: Place, changes: dict[str, Any], why: str
) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        said = await place.ask(here, bearer(place.issuer.token(**changes)))
        assert said.status == 401
        assert why in said.body.decode()
        asks = said.header("www-authenticate")
        assert asks.startswith('Bearer realm="metatide", error="invalid_token"')
        assert why in asks
        assert not here.running.methods.calls
        assert 'metatide_thrift_refused_total{reason="login"} 1.0' in here.metrics()


async def test_clocks_may_differ_a_little(place: Place) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        now = time.time()
        for changes in ({"lives_s": -SKEW_S + 20}, {"nbf": now + SKEW_S - 20}):
            said = await place.ask(here, bearer(place.issuer.token(**changes)))
            assert said.status == 200


async def test_a_token_that_another_signed_or_that_was_changed_is_refused(place: Place) -> None:
    other = Issuer()
    other.add("first")
    head, content, signature = place.issuer.token().split(".")
    evil = jwt.encode({"sub": "root"}, "k" * 32).split(".")[1]
    shared = jwt.encode(
        {"sub": "root", "exp": time.time() + 60, "iss": ISSUER, "aud": AUDIENCE},
        place.issuer.describe("first")["x"],
        "HS256",
        headers={"kid": "first"},
    )
    without_algorithm = base64.urlsafe_b64encode(b'{"kid":"first"}').decode().rstrip("=")
    unsigned = jwt.encode({"sub": "root"}, "", "none", headers={"kid": "first"})
    async with serving_http(settings=place.settings(), **METHODS) as here:
        for token, why in (
            (other.token(), "the token's signature is wrong"),
            (f"{head}.{evil}.{signature}", "the token's signature is wrong"),
            (f"{head}.{content}.", "the token's signature is wrong"),
            (shared, "the token's algorithm isn't that of its key"),
            (unsigned, "the token's algorithm isn't that of its key"),
            (f"{head}.{content}", "the token can't be read"),
            ("no-token", "the token can't be read"),
            ("", "the token can't be read"),
            (f"{without_algorithm}.{content}.{signature}", "the token can't be read"),
            ("\u00e9", "the credentials can't be read"),
        ):
            said = await place.ask(here, bearer(token))
            assert (said.status, said.body.decode().strip()) == (401, why)


@pytest.mark.parametrize(
    "headers", [{}, {"authorization": "Basic YW5uOng="}, {"authorization": "secret"}]
)
async def test_without_a_token_nobody_is_served(place: Place, headers: dict[str, str]) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        said = await place.ask(here, headers)
        assert (said.status, said.header("www-authenticate")) == (401, 'Bearer realm="metatide"')
        assert b"Bearer" in said.body
        binary = await here.running.connect(ssl=place.authority.trusted)
        reply = await binary.call("get_table")
        assert reply is not None
        assert NEEDS_HTTP_LOGIN.encode() in reply.body


async def test_a_token_is_refused_once_it_has_expired(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        client = await here.connect(ssl=place.authority.trusted)
        request = call("get_table", headers=bearer(place.issuer.token(lives_s=3 - SKEW_S)))
        assert (await client.ask(request)).status == 200
        async with asyncio.timeout(30):
            while (said := await client.ask(request)).status == 200:
                await asyncio.sleep(0.1)
        assert b"the token has expired" in said.body


async def test_a_file_is_read_again_when_it_has_changed(place: Place) -> None:
    async with serving_http(settings=place.settings(), **METHODS) as here:
        old = bearer(place.issuer.token())
        assert (await place.ask(here, old)).status == 200
        place.issuer.add("second", "RS256")
        place.issuer.drop("first")
        new = bearer(place.issuer.token())
        assert (await place.ask(here, new)).status == 401
        place.write()
        assert (await place.ask(here, new)).status == 200
        assert b"unknown key" in (await place.ask(here, old)).body
        for content in (b"{", b'{"keys": []}', b'{"keys": [{"kty": "oct", "k": "AA"}]}'):
            place.file.write_bytes(content)
            said = await place.ask(here, new)
            assert (said.status, said.body) == (
                401,
                b"no key can be read now that checks tokens: try again later\n",
            )


async def test_keys_that_can_not_check_are_left_out(place: Place) -> None:
    place.issuer.add("second")
    usual = place.issuer.describe("second")
    private = {**place.issuer.describe("first"), "d": "c2VjcmV0"}
    others = [{**usual, "kid": "third", "use": "enc"}, {"kty": "RSA", "kid": "x"}, private]
    place.file.write_text(json.dumps({"keys": [*others, usual]}))
    async with serving_http(settings=place.settings(), **METHODS) as here:
        assert (await place.ask(here, bearer(place.issuer.token()))).status == 200
        for key_id in ("first", "third", "x"):
            said = await place.ask(here, bearer(place.issuer.token(head={"kid": key_id})))
            assert b"unknown key" in said.body
        unnamed = bearer(place.issuer.token(head={"typ": "JWT"}))
        assert (await place.ask(here, unnamed)).status == 200, "there is only one key"


async def test_a_url_is_fetched_again_for_an_unknown_key_but_not_for_each(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = place.issuer
    with serving_keys(issuer, place.authority) as url:
        async with serving_http(settings=place.settings(url), **METHODS) as here:
            first = bearer(issuer.token())
            for _ in range(3):
                assert (await place.ask(here, first)).status == 200
            assert issuer.fetched == 1
            issuer.add("second")
            second = bearer(issuer.token())
            unknown = bearer(issuer.token(head={"kid": "unknown"}))
            assert [(await place.ask(here, headers)).status for headers in (second, unknown)] == [
                401,
                401,
            ]
            assert issuer.fetched == 1
            monkeypatch.setattr(key_set, "UNKNOWN_EVERY_S", 0.0)
            assert (await place.ask(here, second)).status == 200
            assert issuer.fetched == 2
            monkeypatch.setattr(key_set, "UNKNOWN_EVERY_S", 3600.0)
            said = await asyncio.gather(*(place.ask(here, unknown) for _ in range(20)))
            assert {one.status for one in said} == {401}
            assert issuer.fetched == 2


async def test_keys_that_were_fetched_are_used_while_they_can_not_be_fetched_again(
    place: Place, monkeypatch: pytest.MonkeyPatch
) -> None:
    issuer = place.issuer
    monkeypatch.setattr(key_set, "UNKNOWN_EVERY_S", 0.0)
    monkeypatch.setattr(key_set, "FRESH_S", 0.0)
    with serving_keys(issuer, place.authority) as url:
        async with serving_http(settings=place.settings(url), **METHODS) as here:
            headers = bearer(issuer.token())
            assert (await place.ask(here, headers)).status == 200
            for issuer.body in (b"", b"{", b"x" * (key_set.BYTES_MAX + 1)):
                fetched = issuer.fetched
                assert (await place.ask(here, headers)).status == 200
                assert issuer.fetched == fetched + 1
            monkeypatch.setattr(key_set, "KEPT_S", 0.0)
            said = await place.ask(here, headers)
            assert b"no key can be read now" in said.body
            issuer.body = None
            monkeypatch.setattr(key_set, "KEPT_S", 3600.0)
            assert (await place.ask(here, headers)).status == 200


async def test_keys_of_a_server_whose_certificate_nobody_signed_are_not_used(
    place: Place, tmp_path: Path
) -> None:
    stranger = Authority(tmp_path / "stranger")
    with serving_keys(place.issuer, place.authority) as url:
        settings = place.settings(url, JWT_CA=str(stranger.certificate))
        async with serving_http(settings=settings, **METHODS) as here:
            said = await place.ask(here, bearer(place.issuer.token()))
            assert b"no key can be read now" in said.body
            assert place.issuer.fetched == 0


async def test_metastores_are_told_who_has_logged_in_whatever_the_client_says(
    place: Place,
) -> None:
    metastore = Metastore()
    async with serving_http(metastore, settings=place.settings()) as here:
        headers = {**bearer(place.issuer.token()), "x-actor-username": "root"}
        request = call("create_database", headers=headers)
        assert (await here.ask(request, ssl=place.authority.trusted)).status == 200
        assert metastore.heard == [SET_UGI, "create_database"]
        assert b"ann" in metastore.calls[0]
        assert b"root" not in b"".join(metastore.calls)


@pytest.mark.hive
@pytest.mark.timeout(600)
async def test_hives_own_client_logs_in(
    place: Place, metastore: Instances, log: WorkerLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    upstream = UpstreamSettings((ThriftUrl(metastore.addresses[0]).address,))
    properties = {
        "metastore.client.thrift.transport.mode": "http",
        "metastore.client.auth.mode": "JWT",
        "metastore.use.SSL": "true",
        "metastore.truststore.path": str(place.authority.java_trust()),
        "metastore.truststore.password": STORE_PASSWORD,
        "metastore.trustmanagerfactory.algorithm": "PKIX",
        "metastore.connect.retries": "1",
        "metastore.thrift.failure.retries": "0",
    }

    def use(address: str) -> tuple[Sequence[str], str]:
        monkeypatch.setenv("HMS_JWT", place.issuer.token())
        with hive_java() as java:
            client = HiveClient(java, address, properties)
            databases = [*client.client.getAllDatabases()]
            client.close()
        monkeypatch.setenv("HMS_JWT", place.issuer.token(aud="another"))
        with hive_java() as java:
            with pytest.raises(Py4JJavaError) as caught:
                HiveClient(java, address, properties).client.getAllDatabases()
            return databases, str(caught.value.java_exception)

    settings = place.settings(SLOW_MS="1")
    async with serving_http(upstream=upstream, settings=settings) as here:
        databases, why = await asyncio.to_thread(use, f"thrift://{HOST}:{here.port}")
        await until(lambda: 'refused_total{reason="login"} 1.0' in here.metrics())
    assert "default" in databases
    assert "401" in why
    assert log.users("slow call") == {"ann"}
