"""Calls are relayed to a real metastore that wants a JWT, as the client's own user."""

import asyncio
import getpass
import ssl
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest

from hive.errors import InputError, UpstreamError
from metatide.config import Config, load
from metatide.config.values import ThriftUrl
from metatide.doctor import Finding, Status, examine, find_target
from metatide.doctor.checks import CHECKS
from metatide.metastores import require_proof, upstream_settings
from metatide.worker.logins import mechanisms
from metatide.worker.thrift import server_tls, thrift_settings
from query_api.thrift.client_identity import SET_UGI
from query_api.thrift.metastore_facts import ask_for_facts
from query_api.thrift.upstream import Upstreams
from tests.query_api.thrift.http_transport.clients import HttpRunning, call, serving_http
from tests.query_api.thrift.http_transport.issuer import Issuer, bearer, keep_tokens_out
from tests.query_api.thrift.methods.wire import arguments
from tests.query_api.thrift.sasl.clients import no_token
from tests.query_api.thrift.structs import text
from tests.support.certificates import Authority
from tests.support.guarded_metastore import by_jwt, guarded_metastore
from tests.support.processes import open_folder
from tests.support.secure_metastore import STORAGE_BASED
from tests.support.worker_log import WorkerLog

pytestmark = [pytest.mark.logins, pytest.mark.hive, pytest.mark.timeout(600)]
OWNER: Final = getpass.getuser()
"""Who owns what the metastore writes, for it runs as this user."""
VAULT: Final = "vault"
OF_VAULT: Final = text(1, VAULT) + b"\0"


class Site(NamedTuple):
    """A metastore, whose issuer is the worker's, too."""

    metastore: str
    authority: Authority
    issuer: Issuer
    folder: Path

    def config(self, own: Path | None = None, **more: str) -> Config:
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
        settings = thrift_settings(thrift, server_tls(thrift), logins)
        return serving_http(settings=settings, upstream=upstream_settings(config.upstream, None))

    @property
    def trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self.authority.certificate)

    async def said(
        self, here: HttpRunning, token: str, method: str = "get_database", body: bytes = OF_VAULT
    ) -> bytes:
        """What the metastore says to the user of a token."""
        answer = await here.ask(call(method, body, bearer(token)), ssl=self.trusted)
        return answer.body


@pytest.fixture(scope="module")
def site(new_database: Callable[[], str]) -> Iterator[Site]:
    with open_folder() as folder:
        authority, issuer = Authority(folder / "authority"), Issuer()
        issuer.add("first", "RS256")
        keys = folder / "keys.json"
        keys.write_bytes(issuer.key_set())
        properties = {**by_jwt(keys), **STORAGE_BASED}
        with guarded_metastore(new_database(), authority, properties) as address:
            yield Site(address, authority, issuer, folder)


@pytest.fixture(autouse=True)
def _no_token_is_logged(log: WorkerLog, monkeypatch: pytest.MonkeyPatch) -> None:
    keep_tokens_out(log, monkeypatch)


async def test_clients_are_who_their_own_tokens_say_as_directly(site: Site) -> None:
    issuer = site.issuer
    async with site.serving() as here:
        made = await site.said(
            here, issuer.token(OWNER), "create_database", b"\x0c\0\1" + OF_VAULT + b"\0"
        )
        assert made.endswith(b"\0\0\0\0\0") or b"success" in made, made
        found = await site.said(here, issuer.token(OWNER))
        assert b"vault.db" in found
        assert b"user=ann" in found
