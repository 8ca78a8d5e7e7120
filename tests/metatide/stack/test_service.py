"""What of the environment a stack's processes inherit."""

import subprocess
import sys
from pathlib import Path

import pytest

from hive.errors import MachineError
from metatide.config import load
from metatide.stack.kafka import Kafka
from metatide.stack.ports import Ports
from metatide.stack.processes import services
from metatide.stack.service import Launch, run_tool

OF_DATABASE = {"PGPASSWORD", "MYSQL_PWD"}
OF_STORES = {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"}
OF_NONE = {"CI_TOKEN", "GOOGLE_APPLICATION_CREDENTIALS"}
ALL = OF_DATABASE | OF_STORES | OF_NONE


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ALL:
        monkeypatch.setenv(name, "tide")


def test_programs_of_others_inherit_no_secrets() -> None:
    launch = Launch((sys.executable, "-c", "import os; print(*os.environ)"), {"OWN": "1"})
    environment = launch.full_environment()
    inherited = subprocess.check_output(launch.argv, env=environment, text=True).split()
    assert ALL.isdisjoint(inherited)
    assert {"OWN", "PATH"} <= set(inherited)


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("echo first; echo last >&2; exit 3", "last"),
        ("echo 'it is broken'; echo '  at a.B.c' >&2; exit 3", "it is broken"),
        ("exit 3", "it wrote nothing"),
    ],
)
def test_a_program_that_fails_is_told_with_its_last_message(script: str, message: str) -> None:
    with pytest.raises(MachineError, match=f"^initdb failed: {message}$"):
        run_tool(("sh", "-c", script), "initdb failed")
    run_tool(("true",), "initdb failed")


def test_each_process_inherits_the_secrets_that_it_uses(tmp_path: Path) -> None:
    variables = {
        "data_dir": str(tmp_path),
        "kafka.bootstrap_servers": "127.0.0.1:1",
        "database.url": "postgresql://hive@127.0.0.1:1/metastore",
    }
    effective = load(variables, environ={})
    inherited = {
        service.name: ALL & service.prepare().full_environment().keys()
        for service in services(effective, Ports(tmp_path / "ports.json"))
    }
    assert inherited == {"connect": OF_DATABASE, "worker-1": ALL, "http": OF_DATABASE}


@pytest.mark.parametrize("locale", ["C", "POSIX"])
def test_java_finds_paths_that_are_not_ascii_as_python_does(
    locale: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    folder = tmp_path / "ü"
    Kafka(folder, Ports(tmp_path / "ports.json")).prepare()
    assert (folder / "data" / "meta.properties").exists()
    assert Launch(("true",)).full_environment()["LC_ALL"] == "C.UTF-8"
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    assert Launch(("true",)).full_environment()["LC_ALL"] == "de_DE.UTF-8"
