"""Answers over TLS, and requests that are handed on over it."""

import ssl
import subprocess

import httpx
import pytest

from metatide.client import Client, Need, Settings
from query_api.http import Settings as ServerSettings
from query_api.http import Tls
from tests.metatide.client.serving import serving
from tests.query_api.http.read_client import ask, grounds
from tests.query_api.http.two_workers import elsewhere
from tests.query_api.http.warm_shards import ANY, TABLE, warm


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    folder = tmp_path_factory.mktemp("tls")
    made = Tls(folder / "certificate.pem", folder / "key.pem")
    command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256"]
    names = ["-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1"]
    files = ["-nodes", "-days", "2", "-keyout", str(made.key), "-out", str(made.certificate)]
    subprocess.run([*command, *names, *files], check=True, capture_output=True)
    return made


def test_a_client_that_trusts_the_certificate_is_answered(tls: Tls) -> None:
    with serving(warm(), tls=tls) as url:
        assert url.startswith("https://")
        with Client(url, Settings(verify=str(tls.certificate))) as client:
            for _ in range(3):
                assert client.table("sales.orders", Need("any")).source == "cache"
        with Client(url) as client, pytest.raises(httpx.ConnectError, match="CERTIFICATE"):
            client.table("sales.orders", Need("any"))
        with pytest.raises(httpx.TransportError):
            httpx.get(url.replace("https", "http") + TABLE)


def test_the_owner_is_asked_over_tls(tls: Tls) -> None:
    trusted = ssl.create_default_context(cafile=tls.certificate)

    async def asking(client: httpx.AsyncClient) -> None:
        assert grounds(await client.get(f"{TABLE}?{ANY}")) == ("cache", "fresh")

    async def asking_without_trust(client: httpx.AsyncClient) -> None:
        assert (await client.get(f"{TABLE}?{ANY}")).status_code == 503

    with serving(warm(), tls=tls) as url:
        ask(elsewhere(url), asking, settings=ServerSettings(trusted=trusted))
        ask(elsewhere(url), asking_without_trust)
