"""Certificates that are renewed while servers run."""

import asyncio
import ssl
import subprocess
from pathlib import Path

import pytest
from cryptography import x509
from structlog.testing import capture_logs

from metatide.certificates import server_tls
from query_api import watched_file
from query_api.http import Tls
from query_api.thrift.settings import ThriftSettings
from tests.metatide.client.serving import serving
from tests.query_api.http.warm_shards import warm
from tests.query_api.thrift.configured import configured
from tests.query_api.thrift.serving import HOST
from tests.query_api.thrift.serving import serving as serving_thrift

EC = ("ec", "-pkeyopt", "ec_paramgen_curve:P-256")
RSA = ("rsa:2048",)


@pytest.fixture
def tls(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Tls:
    monkeypatch.setattr(watched_file, "LOOK_EVERY_S", 0.0)
    files = Tls(tmp_path / "certificate.pem", tmp_path / "key.pem")
    write(files, "first", RSA)
    return files


def write(tls: Tls, name: str, kind: tuple[str, ...]) -> None:
    command = ["openssl", "req", "-x509", "-nodes", "-days", "2", "-subj", f"/CN={name}"]
    files = ["-keyout", str(tls.key), "-out", str(tls.certificate)]
    subprocess.run([*command, "-newkey", *kind, *files], check=True, capture_output=True)


def shown(port: int, ciphers: str = "ALL") -> str:
    """Whose certificate a new client is shown, which may take those of one kind alone."""
    command = ["openssl", "s_client", "-connect", f"{HOST}:{port}", "-tls1_2", "-cipher", ciphers]
    done = subprocess.run(command, input=b"", capture_output=True, check=False, timeout=60)
    begin = done.stdout.find(b"-----BEGIN CERTIFICATE-----")
    if begin < 0:
        return ""
    return x509.load_pem_x509_certificate(done.stdout[begin:]).subject.rfc4514_string()


def test_a_renewed_certificate_is_shown_to_new_clients_over_http(tls: Tls) -> None:
    with serving(warm(), tls=tls) as url:
        port = int(url.rpartition(":")[2])
        assert shown(port) == "CN=first"
        write(tls, "second", EC)
        assert shown(port) == "CN=second"
        assert shown(port, "aRSA") == "", "the one before isn't offered beside it"


async def test_a_renewed_certificate_is_shown_to_new_clients_over_thrift(tls: Tls) -> None:
    thrift = configured(None, TLS_CERTIFICATE=tls.certificate, TLS_KEY=tls.key)
    settings = ThriftSettings(tls=server_tls("thrift", thrift))
    async with serving_thrift(settings=settings) as here:
        assert await asyncio.to_thread(shown, here.port) == "CN=first"
        write(tls, "second", EC)
        assert await asyncio.to_thread(shown, here.port) == "CN=second"


def test_a_certificate_without_its_key_is_shown_once_that_is_there(tls: Tls) -> None:
    with serving(warm(), tls=tls) as url, capture_logs() as logs:
        port = int(url.rpartition(":")[2])
        key = tls.key.read_bytes()
        write(tls, "second", RSA)
        newer = tls.key.read_bytes()
        tls.key.write_bytes(key)
        assert [shown(port), shown(port)] == ["CN=first", "CN=first"]
        tls.key.write_bytes(newer)
        assert shown(port) == "CN=second"
    [line] = logs
    assert line["path"] == str(tls.certificate)
    assert "KEY_VALUES_MISMATCH" in line["why"]


def test_what_is_there_at_the_start_must_fit(tls: Tls) -> None:
    tls.key.write_text("no key")
    thrift = configured(None, TLS_CERTIFICATE=tls.certificate, TLS_KEY=tls.key)
    with pytest.raises(Exception, match="can't be used") as caught:
        server_tls("thrift", thrift)
    assert isinstance(caught.value.__cause__, ssl.SSLError)
