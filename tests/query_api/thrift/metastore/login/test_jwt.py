"""Calls are relayed to a real metastore that wants a JWT, as the client's own user."""

import asyncio
import getpass
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from hive.errors import InputError, UpstreamError
from metatide.certificates import server_tls
from metatide.config import Config, load
from metatide.config.values import ThriftUrl
from metatide.doctor import Finding, Status, examine, find_target
from metatide.doctor.checks import CHECKS
from metatide.metastores import require_proof, upstream_settings
from metatide.worker.logins import mechanisms
from metatide.worker.thrift import thrift_settings
from query_api.thrift.metastore.client_identity import SET_UGI
from query_api.thrift.metastore.settings import fetch_settings
from query_api.thrift.metastore.upstream import Introduction, Upstreams
from tests.query_api.thrift.http_transport.clients import (
    HttpClient,
    HttpRunning,
    call,
    serving_http,
)
from tests.query_api.thrift.http_transport.issuer import Issuer, bearer, keep_tokens_out
from tests.query_api.thrift.methods.wire import arguments
from tests.query_api.thrift.sasl.clients import no_token
from tests.query_api.thrift.structs import text
from tests.support.hive.guarded_metastore import by_jwt, guarded_metastore
from tests.support.hive.secure_metastore import STORAGE_BASED
from tests.support.logins.certificates import Authority
from tests.support.processes import open_folder
from tests.support.worker_log import WorkerLog

pytestmark = [
    pytest.mark.logins,
    pytest.mark.hive,
    pytest.mark.timeout(600),
    pytest.mark.by_turns(4, of="logins"),
]
OWNER: Final = getpass.getuser()
"""The owner of what the metastore writes, for it runs as this user."""
VAULT: Final = "vault"
OF_VAULT: Final = text(1, VAULT) + b"\0"
OF_DEFAULT: Final = text(1, "default") + b"\0"


class Site(NamedTuple):
    """A metastore, whose issuer is the worker's, too."""

    metastore: str
    authority: Authority
    issuer: Issuer
    folder: Path

    def config(self, own: Path | str = "", **more: str) -> Config:
        certificate, key = self.authority.sign("worker")
        environ = {
            "UPSTREAM_URL": self.metastore,
            "UPSTREAM_HTTP_PATH": "metastore",
            "UPSTREAM_TLS": "true",
            "UPSTREAM_TLS_CA": str(self.authority.certificate),
            "UPSTREAM_JWT_FILE": str(own or self.own_token()),
            "THRIFT_PORT": "0",
            "THRIFT_HTTP_PORT": "0",
            "THRIFT_TLS_CERTIFICATE": str(certificate),
            "THRIFT_TLS_KEY": str(key),
            "THRIFT_JWT_KEYS": str(self.folder / "keys.json"),
            **more,
        }
        return load(environ={f"METATIDE_{name}": value for name, value in environ.items()}).config

    def own_token(self, name: str = "own", **claims: Any) -> Path:
        """A file with a token of the worker."""
        path = self.folder / f"{name}.jwt"
        path.write_text(self.issuer.token("cache", **claims) + "\n")
        return path

    def serving(self, **more: str) -> Any:
        config = self.config(**more)
        thrift = config.thrift
        logins = mechanisms(thrift, None, no_token)
        settings = thrift_settings(thrift, server_tls("thrift", thrift), logins)
        return serving_http(settings=settings, upstream=upstream_settings(config.upstream, None))

    async def said(
        self,
        here: HttpRunning,
        token: str,
        method: str = "get_database",
        body: bytes = OF_VAULT,
    ) -> bytes:
        """What a worker says to the user of a token, whoever the user claims to be."""
        request = call(method, body, {**bearer(token), "x-actor-username": OWNER})
        return (await here.ask(request, ssl=self.authority.trusted)).body

    async def directly(self, token: str) -> bytes:
        """What the metastore itself says."""
        address = ThriftUrl(self.metastore).address
        client = HttpClient(*await asyncio.open_connection(*address, ssl=self.authority.trusted))
        try:
            return (await client.ask(call("get_database", OF_VAULT, bearer(token)))).body
        finally:
            client.close()


async def answers(site: Site) -> None:
    """Waits for the metastore, whose port is open before it answers."""
    settings = upstream_settings(site.config().upstream, None)
    async with asyncio.timeout(120):
        while await fetch_settings(settings, ThriftUrl(site.metastore).address) is None:
            await asyncio.sleep(0.5)


@pytest.fixture(scope="module")
def site(new_database: Callable[[], str]) -> Iterator[Site]:
    with open_folder() as folder:
        authority, issuer = Authority(folder / "authority"), Issuer()
        issuer.add("first", "RS256")
        keys = folder / "keys.json"
        keys.write_bytes(issuer.key_set())
        properties = {**by_jwt(keys), **STORAGE_BASED}
        with guarded_metastore(new_database(), authority, properties) as address:
            site = Site(address, authority, issuer, folder)
            asyncio.run(answers(site))
            yield site


@pytest.fixture(autouse=True)
def _no_token_is_logged(log: WorkerLog, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_tokens_out(log, monkeypatch)


async def test_clients_are_who_their_own_tokens_say_as_directly(site: Site) -> None:
    token = site.issuer.token
    async with site.serving() as here:
        body = b"\x0c\0\1" + OF_VAULT + b"\0"
        made = await site.said(here, token(OWNER), "create_database", body)
        assert made.endswith(b"\0\0\0\1\0")
        shown = await site.said(here, token(OWNER))
        location = re.search(rb"file:([\w/.-]+vault\.db)", shown)
        assert location is not None
        Path(location[1].decode()).chmod(0o700)
        for user in (OWNER, "ann"):
            relayed = await site.said(here, token(user))
            assert relayed == await site.directly(token(user))
            assert (b"user=ann" in relayed) == (user == "ann")
        assert 'upstream_connections{kind="impersonated"}' in here.metrics()


async def test_calls_of_a_connection_share_one_whatever_token_they_bring(site: Site) -> None:
    async with site.serving() as here:
        client = await here.connect(ssl=site.authority.trusted)
        for _ in range(3):
            headers = bearer(site.issuer.token(OWNER))
            ugi = call(SET_UGI, arguments(SET_UGI, "nobody", []), headers)
            assert (await client.ask(ugi)).status == 200
            said = await client.ask(call("get_database", OF_DEFAULT, headers))
            assert b"default" in said.body
        assert here.running.server._hub.links.count == 1


async def test_without_a_token_of_the_client_nothing_is_relayed(site: Site) -> None:
    upstreams = Upstreams(upstream_settings(site.config().upstream, None))
    with pytest.raises(UpstreamError, match="metastores want the client's own token: log in by it"):
        await upstreams.open(Introduction("ann", "ann"))


async def test_a_token_that_the_metastore_refuses_is_told_as_such(
    site: Site, tmp_path: Path
) -> None:
    stranger, keys = Issuer(), tmp_path / "keys.json"
    stranger.add("stranger")
    keys.write_bytes(stranger.key_set())
    async with site.serving(THRIFT_JWT_KEYS=str(keys)) as here:
        said = await here.ask(
            call("get_database", OF_DEFAULT, bearer(stranger.token())), ssl=site.authority.trusted
        )
        assert said.status == 502
        assert b"it answers 401: 'Authentication error: Failed to validate JWT" in said.body


async def test_without_impersonation_all_calls_are_the_workers_own(site: Site) -> None:
    async with site.serving(UPSTREAM_IMPERSONATE="false") as here:
        body = b"\x0c\0\1" + text(1, "of_cache") + b"\0\0"
        said = await site.said(here, site.issuer.token(OWNER), "create_database", body)
        assert b"user=cache" in said


async def test_a_renewed_token_of_the_worker_is_used(site: Site, tmp_path: Path) -> None:
    own = tmp_path / "own.jwt"
    own.write_text(site.issuer.token("cache", lives_s=-300))
    settings = upstream_settings(site.config(own).upstream, None)
    address = ThriftUrl(site.metastore).address
    assert await fetch_settings(settings, address) is None
    own.write_text(site.issuer.token("cache"))
    async with asyncio.timeout(60):
        while await fetch_settings(settings, address) is None:
            await asyncio.sleep(0.2)


async def test_the_doctor_shows_the_workers_token(site: Site) -> None:
    def findings(own: Path) -> Mapping[str, Finding]:
        checks = [check for check in CHECKS if check.name in ("metastore", "impersonation")]
        return {one.check: one.finding for one in examine(find_target(site.config(own)), checks)}

    results = await asyncio.to_thread(findings, site.own_token())
    assert results["metastore"].status is Status.OK
    assert results["impersonation"].detail == "the metastore is shown clients' own tokens"
    results = await asyncio.to_thread(findings, site.own_token("expired", lives_s=-300))
    assert results["metastore"].status is Status.FAILED
    assert "it answers 401" in results["metastore"].detail


def test_a_file_without_a_token_is_told_at_the_start(site: Site, tmp_path: Path) -> None:
    for content, why in ((None, "can't be read: No such file"), ("hush", "is to hold a token")):
        own = tmp_path / "own.jwt"
        if content is not None:
            own.write_text(content)
        with pytest.raises(InputError, match=rf"upstream\.jwt_file {own} {why}"):
            upstream_settings(site.config(own).upstream, None)


@pytest.mark.parametrize(
    ("environ", "why"),
    [
        ({"UPSTREAM_HTTP_PATH": ""}, "set upstream.http_path"),
        ({"UPSTREAM_TLS": "false"}, "upstream.jwt_file holds what whoever reads it"),
        ({"THRIFT_JWT_KEYS": "", "THRIFT_TLS_KEY": ""}, "have clients log in by them"),
    ],
)
def test_what_can_not_work_is_refused(site: Site, environ: dict[str, str], why: str) -> None:
    with pytest.raises(InputError, match=why):
        require_proof(site.config(**environ))
