"""That the compose file is sound and names what the project has. `tests/containers` runs it."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import xml.etree.ElementTree as ET
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import pytest
import yaml

from hive.listener import LISTENER
from metatide.cli import root
from metatide.config import load
from metatide.doctor.metastore import RETENTION_S_MIN
from tests.support.checkout import DOCKERFILES, ROOT, run_tool

COMPOSE = ROOT / "compose"
FILE = COMPOSE / "compose.yaml"
SERVICES: Mapping[str, Any] = yaml.safe_load(FILE.read_text())["services"]
OURS = [name for name, service in SERVICES.items() if "METATIDE_IMAGE" in service.get("image", "")]
NOBODY = 65534
PORT = re.compile(r"127\.0\.0\.1:\$\{[A-Z0-9_]+_PORT:-(\d+)\}:(\d+)")
"""A port of this machine, which a variable may change, and the container's."""


def section(name: str) -> Mapping[str, Any]:
    found = yaml.safe_load(FILE.read_text()).get(name, {})
    assert isinstance(found, dict)
    return found


def test_it_is_what_the_specification_of_compose_files_allows() -> None:
    run_tool("check-jsonschema", "--builtin-schema", "vendor.compose-spec", FILE)


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_dockerfiles_are_clean(path: Path) -> None:
    run_tool("hadolint", path)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_rests_on_what_is_there(name: str) -> None:
    service = SERVICES[name]
    assert ("image" in service) != ("build" in service) or name == "connector"
    assert service.get("restart") == "unless-stopped"
    for other in service.get("depends_on", {}):
        assert other in SERVICES
    for secret in service.get("secrets", []):
        assert secret in section("secrets")
    for volume in service.get("volumes", []):
        source = volume.partition(":")[0]
        if source.startswith("."):
            assert (COMPOSE / source).exists(), f"{name} mounts {source}, which is missing"
        else:
            assert source in section("volumes")
    if "build" in service:
        build = service["build"]
        context = build["context"] if isinstance(build, dict) else build
        assert (COMPOSE / context / "Dockerfile").is_file()
    elif name in OURS:
        assert service["pull_policy"] == "never"
    else:
        assert re.search(r":v?\d", service["image"]), f"{service['image']} is not pinned"


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_healthy_when_it_says_so_and_reached_from_this_machine_only(name: str) -> None:
    service = SERVICES[name]
    if "healthcheck" not in service:
        assert name in OURS
        assert "HEALTHCHECK" in (ROOT / "Dockerfile").read_text()
    assert all(PORT.fullmatch(port) for port in service.get("ports", []))


def test_no_two_services_want_the_same_port_of_this_machine() -> None:
    ports = [port for service in SERVICES.values() for port in service.get("ports", [])]
    assert len({PORT.sub(r"\1", port) for port in ports}) == len(ports)
    assert len({port.partition(":-")[0] for port in ports}) == len(ports)


def test_secrets_are_made_once_and_git_ignores_them(tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    for _ in range(2):
        subprocess.run([COMPOSE / "make-secrets", folder], check=True)
    files = {path.name: path.read_text() for path in folder.iterdir()}
    for secret in section("secrets").values():
        source = secret["file"].removeprefix("${SECRETS:-./secrets}/")
        # Any user may read them in a container, but nobody else comes to them here.
        assert (folder / source).stat().st_mode & 0o777 == 0o444
    assert folder.stat().st_mode & 0o777 == 0o700
    assert f"<value>{files['database-password'].strip()}</value>" in files["metastore-password.xml"]
    subprocess.run([COMPOSE / "make-secrets", folder], check=True)
    assert {path.name: path.read_text() for path in folder.iterdir()} == files
    subprocess.run(["git", "check-ignore", "-q", COMPOSE / "secrets" / "any"], cwd=ROOT, check=True)


@pytest.mark.parametrize("mode", [0o755, 0o750, 0o701, 0o1777])
def test_no_secret_is_made_where_others_may_enter(mode: int, tmp_path: Path) -> None:
    folder = tmp_path / "secrets"
    folder.mkdir()
    folder.chmod(mode)
    done = subprocess.run(
        [COMPOSE / "make-secrets", folder], capture_output=True, text=True, check=False
    )
    assert (done.returncode, [*folder.iterdir()]) == (1, [])
    assert f"others may enter {folder}" in done.stderr
    folder.chmod(0o744)
    subprocess.run([COMPOSE / "make-secrets", folder], check=True)


def test_another_user_than_root_makes_secrets_again() -> None:
    script = (COMPOSE / "make-secrets").read_text()
    # Folders of one test are root's, and so may be the checkout.
    with TemporaryDirectory() as folder:
        user = NOBODY if os.geteuid() == 0 else None
        if user is not None:
            os.chown(folder, user, user)
        for _ in range(2):
            subprocess.run(
                ["sh", "-s", folder], input=script, text=True, cwd=folder, user=user, check=True
            )


def test_no_secret_is_written_down() -> None:
    for path in filter(Path.is_file, COMPOSE.rglob("*")):
        pattern = r"(?i)(?<!\{)\b(\w*password\w*)(?:: |=)(\S+)"
        for name, value in re.findall(pattern, path.read_text()):
            assert value.startswith("/run/secrets/"), f"{path}: {name}"


@pytest.mark.parametrize("name", OURS)
def test_ours_run_without_rights(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    stages = re.split(r"^FROM ", (ROOT / "Dockerfile").read_text(), flags=re.MULTILINE)
    users = [re.findall(r"^USER (\S+)", stage, re.MULTILINE)[-1:] for stage in stages]
    assert {*map(tuple, users)} == {(), ("10001:10001",)}


@pytest.mark.parametrize("name", OURS)
def test_ours_are_given_commands_and_settings_that_they_have(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    service = SERVICES[name]
    secret = tmp_path / "secret"
    secret.write_text("tide")
    dockerfile = (ROOT / "Dockerfile").read_text()
    environ = dict(re.findall(r"(METATIDE_\w+)=(\S+)", dockerfile)) | service["environment"]
    environ["METATIDE_DATABASE_PASSWORD_FILE"] = str(secret)
    config = load(environ=environ).config
    assert config.database.password == "tide"
    assert config.kafka.bootstrap_servers is not None
    assert config.kafka.bootstrap_servers.partition(":")[0] in SERVICES
    assert config.database.url is not None
    assert re.fullmatch(r".*@(\w+):5432/.*", config.database.url)
    assert config.upstream.url is not None
    assert config.upstream.url.addresses[0][0] in SERVICES
    (command,) = service["command"]
    assert root.get_command(click.Context(root), command) is not None
    is_worker = command == "work"
    host, port = (
        (config.worker.host, config.worker.port)
        if is_worker
        else (config.connect.host, config.connect.port)
    )
    assert host == "0.0.0.0"
    assert service["ports"][0].endswith(f":{port}")
    if is_worker:
        # Workers tell each other where they are.
        assert config.worker.name == config.worker.advertised_host == name
        assert config.thrift.host == "0.0.0.0"
        assert service["ports"][1].endswith(f":{config.thrift.port}")


def test_the_dockerfile_copies_what_the_context_holds() -> None:
    copied = {
        name
        for line in re.findall(r"^COPY (?!--)(.*) \S+$", (ROOT / "Dockerfile").read_text(), re.M)
        for name in line.split()
    }
    allowed = (ROOT / ".dockerignore").read_text().splitlines()
    whole = {name for name in copied if not {str(path) for path in Path(name).parents} & copied}
    assert whole == {line[1:] for line in allowed if line.startswith("!")}
    assert all((ROOT / name).exists() for name in copied)


def test_what_fetches_jars_in_the_image_has_all_that_it_imports(tmp_path: Path) -> None:
    dockerfile = (ROOT / "Dockerfile").read_text()
    [stage] = re.findall(r"^FROM java AS jars\n(.*?)^FROM ", dockerfile, re.M | re.S)
    for sources, target in re.findall(r"^COPY (?!--)(.*) (\S+)$", stage, re.M):
        for source in sources.split():
            name = "" if (ROOT / source).is_dir() else Path(source).name
            copied = tmp_path / target / name
            copied.parent.mkdir(parents=True, exist_ok=True)
            copied.symlink_to(ROOT / source)
    # Without the module `site`, nothing leads to this checkout.
    program = [sys.executable, "-S", "-c", "import metatide.stack.jars"]
    path = os.pathsep.join((str(tmp_path), sysconfig.get_path("purelib")))
    environ = {"PYTHONPATH": path}
    done = subprocess.run(
        program, cwd=tmp_path, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def test_the_image_says_the_release_that_it_is_of() -> None:
    release = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert f"ARG VERSION={release}\n" in (ROOT / "Dockerfile").read_text()
    assert f"VERSION: ${{VERSION:-{release}}}\n" in (COMPOSE / "images.yaml").read_text()


def test_the_metastore_writes_events_within_transactions() -> None:
    tree = ET.parse(COMPOSE / "metastore" / "metastore-site.xml")
    site = {one.findtext("name"): one.findtext("value") or "" for one in tree.iter("property")}
    [included] = tree.iter("{http://www.w3.org/2001/XInclude}include")
    assert (
        included.get("href", "").removeprefix("/run/secrets/") in SERVICES["metastore"]["secrets"]
    )
    assert site["metastore.transactional.event.listeners"] == LISTENER
    assert int(site["metastore.event.db.listener.timetolive"].removesuffix("d")) * 86400 >= (
        RETENTION_S_MIN
    )
    environment = SERVICES["postgres"]["environment"]
    database = environment["POSTGRES_DB"]
    assert site["javax.jdo.option.ConnectionURL"] == f"jdbc:postgresql://postgres:5432/{database}"
    assert site["javax.jdo.option.ConnectionUserName"] == environment["POSTGRES_USER"]


def test_prometheus_and_grafana_ask_services_that_are_there() -> None:
    prometheus = yaml.safe_load((COMPOSE / "prometheus" / "prometheus.yml").read_text())
    targets = {
        target
        for job in prometheus["scrape_configs"]
        for target in job["static_configs"][0]["targets"]
    }
    ours = {f"{name}:{SERVICES[name]['ports'][0].rpartition(':')[2]}" for name in OURS}
    assert targets == ours | {"127.0.0.1:9090"}
    assert OURS == ["connector", "worker-1", "worker-2"]
    source = yaml.safe_load((COMPOSE / "grafana" / "datasources" / "prometheus.yml").read_text())
    assert source["datasources"][0]["url"] == "http://prometheus:9090"
    assert all(SERVICES[name]["profiles"] == ["monitoring"] for name in ("prometheus", "grafana"))


def test_dashboards_and_rules_are_where_they_are_looked_for() -> None:
    mounts = dict(
        reversed(volume.removesuffix(":ro").split(":")) for volume in SERVICES["grafana"]["volumes"]
    )
    provided = mounts["/etc/grafana/provisioning/dashboards"]
    [provider] = yaml.safe_load((COMPOSE / provided / "metatide.yml").read_text())["providers"]
    assert [*(COMPOSE / mounts[provider["options"]["path"]]).glob("*.json")]
    configuration = yaml.safe_load((COMPOSE / "prometheus" / "prometheus.yml").read_text())
    assert all((COMPOSE / "prometheus" / name).is_file() for name in configuration["rule_files"])
    assert "./prometheus:/etc/prometheus:ro" in SERVICES["prometheus"]["volumes"]
