"""What is written for a test is readable by others, whatever a command did before."""

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="module")
def command() -> None:
    os.umask(0o077)


@pytest.fixture(scope="module")
def server_file(command: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("server") / "settings"
    path.touch()
    return path


def test_a_fixture_after_a_command_writes_for_others_too(server_file: Path) -> None:
    assert server_file.stat().st_mode & 0o777 == 0o644
    os.umask(0o077)


def test_so_does_a_test(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    assert path.stat().st_mode & 0o777 == 0o644
