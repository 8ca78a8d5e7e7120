"""A stack with Kerberos: what it prints is all that its clients need."""

import os
import shlex
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import pytest
from py4j.protocol import Py4JJavaError

from hive.delegation_tokens import read_identifier, read_token
from hive.errors import InputError
from metatide.config import load
from metatide.doctor import Status, examine, find_target
from metatide.stack import java_kerberos
from metatide.stack.kdc import require_programs
from metatide.stack.realm import USER, Realm, require_free_choice
from query_api.thrift.java.gateway import OPTIONS
from tests.support.engines import spark_process
from tests.support.engines.spark_process import SELECTED, SPARK
from tests.support.hive.client import HiveClient, log_in_by_keytab
from tests.support.hive.java import hive_java
from tests.support.kafka.kerberized import keys_in
from tests.support.locked_packages import package_folder
from tests.support.logins.tickets import load_gssapi
from tests.support.processes import open_folder
from tests.support.secrets_in_logs import assert_untold, logs_in
from tests.support.stacks import Stack, processes_on, stack

pytestmark = [
    pytest.mark.logins,
    pytest.mark.hive,
    pytest.mark.timeout(900),
    pytest.mark.by_turns(4, of="logins"),
]
NAMES: Final = {"hive.metastore", "hadoop.security"}


class Printed(NamedTuple):
    """What a stack has printed for users."""

    shell: list[str]
    properties: Mapping[str, str]
    java: str


@pytest.fixture(scope="module")
def secured() -> Iterator[Stack]:
    gssapi = str(package_folder("gssapi", 1))
    with (
        open_folder() as parent,
        stack(parent / "data", "--metastore", "--secure", PYTHONPATH=gssapi) as running,
    ):
        running.until_live("worker-1")
        running.until(lambda: "-Djava.security.krb5.conf=" in running.output)
        yield running


@pytest.fixture(autouse=True)
def _no_key_is_logged(request: pytest.FixtureRequest) -> Iterator[None]:
    yield
    if "secured" in request.fixturenames:
        secured: Stack = request.getfixturevalue("secured")
        keytabs = Realm(secured.folder).keytabs
        keys = [key for keytab in keytabs for key in keys_in(keytab)]
        logs = logs_in(secured.folder / "logs")
        assert any("listening for Thrift" in text for text in logs.values())
        assert_untold(keys, {**logs, "what is printed": secured.output})


@pytest.fixture
def printed(secured: Stack) -> Printed:
    lines = [line.strip() for line in secured.output.splitlines()]
    pairs = [line.split("=", 1) for line in lines if line.startswith((*NAMES,))]
    java = next(line for line in lines if "-Djava" in line).rpartition(" ")[2]
    shell = [line for line in lines if line.startswith(("export ", "kinit "))]
    return Printed(shell, dict(pairs), java)


def in_shell(printed: Printed, command: str) -> subprocess.CompletedProcess[str]:
    script = "\n".join(("set -e", *printed.shell, command))
    return subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False)


def test_the_lines_for_a_shell_get_a_ticket(secured: Stack, printed: Printed) -> None:
    done = in_shell(printed, "klist")
    assert done.returncode == 0, done.stderr
    assert f"Default principal: {USER}" in done.stdout
    assert str(secured.folder) in done.stdout


def test_an_engine_with_these_settings_reads_and_writes(printed: Printed, secured: Stack) -> None:
    address = printed.properties["hive.metastore.uris"]
    with hive_java((*OPTIONS, printed.java), release="4.0.1") as java:
        log_in_by_keytab(java, USER, Realm(secured.folder).user, printed.properties)
        client = HiveClient(java, address, printed.properties)
        location = f"file:{secured.folder / 'warehouse' / 'tides'}"
        client.client.createDatabase(client.api.Database("tides", "by a ticket", location, {}))
        assert client.client.getDatabase("tides").getDescription() == "by a ticket"
        name = USER.partition("@")[0]
        token = read_token(client.client.getDelegationToken(name, name))
        assert read_identifier(token.identifier).owner == name
        client.close()
        with pytest.raises(Py4JJavaError, match=r"(?i)transport|SASL|login|closed"):
            HiveClient(java, address, {"metastore.sasl.enabled": "false"}).client.getDatabase("x")


def test_spark_with_its_built_in_client_writes_and_reads(
    printed: Printed, secured: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keytab = Realm(secured.folder).user
    options = spark_process.by_ticket(monkeypatch, tmp_path, USER, keytab, printed.java)
    spark_process.set_properties(monkeypatch, printed.properties, options)
    address = printed.properties["hive.metastore.uris"]
    lines = spark_process.query_results(SPARK, address, tmp_path / "spark")
    rows = {line["query"]: line["rows"] for line in lines}
    assert rows[SELECTED] == [[2, "a2", "2026-01-02"], [3, "a3", "2026-01-03"]]


def test_keys_are_for_this_user_alone(secured: Stack) -> None:
    files = [path for path in Realm(secured.folder).folder.rglob("*") if path.is_file()]
    assert {"service.keytab", "workers.keytab", "user.keytab", "stash"} <= {f.name for f in files}
    assert [path for path in files if path.stat().st_mode & 0o077] == []
    assert not any("-P of" in line for line in processes_on(secured.folder))


def test_the_doctor_logs_in_as_workers_do(secured: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    load_gssapi()
    monkeypatch.setenv("KRB5_CONFIG", str(Realm(secured.folder).clients))
    target = find_target(load({"data_dir": str(secured.folder)}, environ={}).config)
    findings = {result.check: result.finding for result in examine(target)}
    assert findings["metastore"].detail.endswith(", logged in as metatide@METATIDE.TRIAL")
    assert findings["impersonation"].status is Status.OK


@pytest.mark.parametrize("name", ["krb5kdc", "metastore"])
def test_what_is_killed_is_back_with_the_same_keys(secured: Stack, name: str) -> None:
    realm = Realm(secured.folder)
    before = [path.read_bytes() for path in realm.keytabs]
    secured.kill(name)
    assert [path.read_bytes() for path in realm.keytabs] == before


def test_a_later_run_keeps_realm_and_keys() -> None:
    gssapi = str(package_folder("gssapi", 1))
    with open_folder() as parent:
        folder = parent / "data"
        options = "--secure", "--thrift-port", "0"
        with stack(folder, *options, PYTHONPATH=gssapi):
            before = {path: path.read_bytes() for path in Realm(folder).keytabs}
        with stack(folder, *options, PYTHONPATH=gssapi) as running:
            assert {path: path.read_bytes() for path in before} == before
            keytab = shlex.quote(str(Realm(folder).user))
            environment = {**os.environ, **Realm(folder).environment}
            done = subprocess.run(
                ["bash", "-c", f"kinit -c MEMORY: -k -t {keytab} {USER}"],
                env=environment,
                check=False,
            )
            assert done.returncode == 0, running.output


def test_classes_are_taken_from_the_systems_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("METATIDE_CACHE_DIR", str(tmp_path))
    folder = java_kerberos.classes()
    assert (folder / "com/sun/security/sasl/gsskerb/JdkSASL.class").exists()
    assert (folder / "META-INF/services/java.security.Provider").read_text().strip()


def test_missing_programs_are_named_with_their_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    require_programs()
    monkeypatch.setattr("metatide.stack.kdc._FOLDERS_OF_ADMINISTRATORS", "")
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(Exception, match=r"there is no krb5kdc: .*krb5-kdc and krb5-admin-server"):
        require_programs()


@pytest.mark.parametrize(
    "keys",
    [
        {"kerberos_principal": "hive/_HOST@X", "kerberos_keytab": "/k"},
        {
            **{"jwt_keys": "/keys", "http_port": "0", "port": "0"},
            **{"tls_certificate": "/certificate", "tls_key": "/key"},
        },
        {"host": "192.0.2.1"},
    ],
)
def test_other_logins_and_addresses_are_refused(keys: Mapping[str, str]) -> None:
    environ = {f"METATIDE_THRIFT_{name.upper()}": text for name, text in keys.items()}
    with pytest.raises(InputError, match=r"^--secure "):
        require_free_choice(load(environ={**environ, "METATIDE_SECURE": "true"}).config)
