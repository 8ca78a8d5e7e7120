"""What the tests of deployments share."""

from collections.abc import Iterator

import pytest

from tests.deploy.systemd_machine import SystemdMachine, systemd_machine


@pytest.fixture
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SystemdMachine]:
    with systemd_machine(tmp_path_factory.mktemp("systemd")) as booted:
        yield booted
