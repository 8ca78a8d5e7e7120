"""`metatide config` as a person and as a program see it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from metatide.cli import root
from tests.support.terminal import on_a_terminal


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for variable in os.environ:
        if variable.startswith("METATIDE_"):
            monkeypatch.delenv(variable)


def test_piped_it_is_json_with_the_origin_of_each_value(monkeypatch: pytest.MonkeyPatch) -> None:
    Path("metatide.toml").write_text("workers = 3")
    monkeypatch.setenv("METATIDE_DATABASE_PASSWORD", "tide")
    done = CliRunner().invoke(root, ["config", "show", "--kafka", "127.0.0.1:9092", "--metastore"])
    shown = json.loads(done.stdout)
    assert done.exit_code == 0
    assert shown["workers"] == {"value": 3, "from": "metatide.toml"}
    assert shown["database.password"] == {"value": "***", "from": "METATIDE_DATABASE_PASSWORD"}
    assert shown["kafka.bootstrap_servers"] == {"value": "127.0.0.1:9092", "from": "--kafka"}
    assert shown["metastore"] == {"value": True, "from": "--metastore"}
    assert shown["database.url"] == {"value": None, "from": "default"}


def test_secrets_within_urls_are_masked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("METATIDE_DATABASE_URL", "postgresql://h/m?password=tide&sslpassword=tide")
    monkeypatch.setenv("METATIDE_IMAGES_URL", "s3://AKID:tide@bucket/images")
    monkeypatch.setenv("METATIDE_CLIENT_SERVER", "http://me:tide@host:80")
    issuer = "kafka.sasl_oauthbearer_token_endpoint_url"
    for name, text in (
        *(("security_protocol", "sasl_ssl"), ("sasl_mechanism", "OAUTHBEARER")),
        ("sasl_oauthbearer_token_endpoint_url", "https://me:tide@issuer/token"),
        *(("sasl_oauthbearer_client_id", "me"), ("sasl_oauthbearer_client_secret", "tide")),
    ):
        monkeypatch.setenv(f"METATIDE_KAFKA_{name.upper()}", text)
    shown = json.loads(CliRunner().invoke(root, ["config", "show"]).stdout)
    assert shown[issuer]["value"] == "https://me:***@issuer/token"
    assert shown["database.url"]["value"] == "postgresql://h/m?password=***&sslpassword=***"
    assert shown["images.url"]["value"] == "s3://AKID:***@bucket/images"
    assert shown["client.server"]["value"] == "http://me:***@host:80"


def test_on_a_terminal_it_is_a_table_unless_json_is_asked_for() -> None:
    table = on_a_terminal("config", "show", "--workers", "7")
    [line] = [line for line in table.splitlines() if "workers" in line]
    assert line.split() == ["workers", "7", "--workers"]
    assert json.loads(on_a_terminal("config", "show", "--json"))["workers"]["value"] == 1


def test_an_address_in_brackets_is_shown_as_it_is() -> None:
    table = on_a_terminal("config", "show", "--server", "http://[fd00::1]:8080")
    assert '"http://[fd00::1]:8080"' in table


def test_a_wrong_value_is_one_line_and_status_two() -> None:
    command = [sys.executable, "-m", "metatide", "config", "show", "--workers", "many"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "metatide: --workers: the value 'many' is wrong: expected a whole number of at least 1 "
        "and at most 64\n"
    )
