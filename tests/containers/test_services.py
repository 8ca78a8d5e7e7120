"""That the tests which need servers run on containers as they do on processes of this machine."""

import os
import subprocess
import sys

import pytest

from tests.containers.deployment import ROOT
from tests.containers.engine import Engine
from tests.support.containers import SWITCH
from tests.support.summary import Say

pytestmark = [pytest.mark.containers, pytest.mark.timeout(7200)]

IMAGES = {"apache/kafka:4.1.2", "mariadb:11.8", "postgres:15", "postgres:18"}
# By file, so that what a file shares is started once.
AT_ONCE = ("-n", "2", "--dist", "loadfile")


@pytest.mark.parametrize("chosen", ["quick", pytest.param("all", marks=pytest.mark.torture)])
def test_tests_run_on_containers_and_leave_none(engine: Engine, chosen: str, say: Say) -> None:
    before = engine.docker("ps", "--all", "--quiet")
    environment = {**os.environ, **engine.environment, SWITCH: "containers", "PYTEST_ADDOPTS": ""}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *AT_ONCE]
    with engine.started_images() as images:
        done = subprocess.run(
            [*command, f"--services={chosen}"],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    say("tests on containers", done.stdout.splitlines()[-1])
    assert set(images) == IMAGES
    assert engine.docker("ps", "--all", "--quiet") == before
