"""A file that changes, also while it can't be read."""

from pathlib import Path

import pytest
from structlog.testing import capture_logs

from hive.errors import InputError
from query_api import watched_file
from query_api.watched_file import WatchedFile, file_version

MESSAGE = "a file can't be read again: its last content stays until it can"


class Reader:
    """Reads a file, unless it must not."""

    def __init__(self) -> None:
        self.error: Exception | None = None

    def read(self, path: Path) -> str:
        if self.error is not None:
            raise self.error
        return path.read_text()


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(watched_file, "LOOK_EVERY_S", 0.0)
    path = tmp_path / "tokens"
    path.write_text("old")
    return path


@pytest.mark.parametrize("error", [PermissionError(13, "denied"), InputError("line 1: no token")])
def test_what_could_not_be_read_is_read_as_soon_as_it_can(path: Path, error: Exception) -> None:
    reader = Reader()
    file = WatchedFile(path, reader.read)
    path.write_text("new one")
    reader.error = error
    with capture_logs() as entries:
        for _ in range(3):
            assert file.content() == "old"
    assert [entry["event"] for entry in entries] == [MESSAGE]
    reader.error = None
    assert file.content() == "new one"
    assert file.reads == 2
    assert file.content() == "new one"
    assert file.reads == 2


def test_a_file_that_is_away_is_read_once_it_is_back(path: Path) -> None:
    file = WatchedFile(path, Path.read_text)
    path.unlink()
    assert file.content() == "old"
    path.write_text("new")
    assert file.content() == "new"


def test_rights_are_part_of_a_version(path: Path) -> None:
    before = file_version(path)
    path.chmod(0o640)
    assert file_version(path) != before
    path.unlink()
    assert file_version(path) == ()
