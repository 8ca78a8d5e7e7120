"""What is said of workers that can't be checked."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from hive.errors import InputError, MetatideError, UnprovedError
from metatide.cli import root
from metatide.config import load
from metatide.members import worker_client


@pytest.mark.parametrize("content", [None, "no certificate"])
def test_certificates_that_cannot_be_used_are_named_with_their_key(
    tmp_path: Path, content: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "ca.pem"
    if content is not None:
        path.write_text(content)
    monkeypatch.setenv("METATIDE_READS_TLS_CA", str(path))
    config = load({"data_dir": str(tmp_path)}).config
    with pytest.raises(InputError, match=f"^reads.tls_ca: {path} can't be used: "):
        worker_client(config, 1.0)
    result = CliRunner().invoke(root, ["get", "databases", "--server", "https://127.0.0.1:1"])
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(f"reads.tls_ca: {path} can't be used: ")


def test_a_token_without_anything_that_proves_a_worker_is_wrong_input(
    tmp_path: Path, workers_secret: Path
) -> None:
    environ = {"METATIDE_CLIENT_TOKEN": "mine", "METATIDE_DATA_DIR": str(tmp_path)}
    with_secret = environ | {"METATIDE_WORKER_SECRET_FILE": str(workers_secret)}
    for named, kind in ((environ, InputError), (with_secret, UnprovedError)):
        with (
            worker_client(load(environ=named).config, 1.0) as client,
            pytest.raises(MetatideError, match=r"isn't sent client\.token") as refused,
        ):
            client.get("http://127.0.0.1:1")
        assert type(refused.value) is kind
