"""That the tests which need servers run on containers as they do on processes of this machine."""

import os
import subprocess
import sys

import pytest

from tests.containers.deployment import ROOT
from tests.containers.engine import Engine
from tests.support.containers import SWITCH

pytestmark = [pytest.mark.containers, pytest.mark.timeout(1800)]

FILES = (
    "tests/support/test_services.py",
    "tests/connectors/test_sql_source.py",
    "tests/state/topic/test_partitions.py",
    "tests/metatide/demo/test_mariadb.py",
)
IMAGES = {"apache/kafka:4.1.2", "mariadb:11.8", "postgres:15", "postgres:18"}


def test_tests_run_on_containers_and_leave_none(engine: Engine) -> None:
    before = engine.docker("ps", "--all", "--quiet")
    environment = {**os.environ, **engine.environment, SWITCH: "containers", "PYTEST_ADDOPTS": ""}
    with engine.started_images() as images:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *FILES],
            cwd=ROOT,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 0, done.stdout
    assert set(images) == IMAGES
    assert engine.docker("ps", "--all", "--quiet") == before
