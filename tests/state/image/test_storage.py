"""The storage of images, whose faults are all of one kind."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

from hive.errors import ImageError, StorageError
from state.image.storage import Storage
from tests.support.silent_storage import URL

HERE = Path("file")
OPERATIONS: list[Callable[[Storage], object]] = [
    lambda storage: storage.is_there(),
    lambda storage: storage.paths("folder"),
    lambda storage: storage.make_folder("folder"),
    lambda storage: storage.read("file"),
    lambda storage: storage.write("file", b""),
    lambda storage: storage.move("file", "final"),
    lambda storage: storage.put(HERE, "file"),
    lambda storage: storage.fetch("file", HERE),
    lambda storage: storage.remove("file"),
    lambda storage: storage.age_s("file"),
]


@pytest.mark.parametrize("operation", OPERATIONS)
def test_an_error_of_a_library_is_one_of_the_storage(
    operation: Callable[[Storage], object],
) -> None:
    with pytest.raises(StorageError, match="SilentStorageError: nothing answers") as error:
        operation(Storage(URL))
    assert "bucket/images can't be read or written" in str(error.value)
    assert "password" not in str(error.value)


def test_an_error_of_the_disk_is_one_of_the_storage(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    (tmp_path / "file").touch()
    with pytest.raises(StorageError, match="Not a directory"):
        storage.read(f"{storage.root}/file/below")


def test_a_file_that_is_not_there_is_said_so(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    for operation in (storage.read, storage.age_s):
        with pytest.raises(FileNotFoundError):
            operation(f"{storage.root}/lost")
    assert storage.paths(f"{storage.root}/lost") == []
    assert not storage.remove(f"{storage.root}/lost")


def test_a_place_that_no_library_opens_is_refused() -> None:
    with pytest.raises(ImageError, match="can't be stored at nowhere://x"):
        Storage("nowhere://x")


class RememberingStorage(MemoryFileSystem):  # type: ignore[misc]
    """Answers as it did before whatever `ls` is told, as adlfs does from its listings."""

    protocol = "remembering"

    def ls(self, path: str, detail: bool = True, **_: Any) -> Any:
        return self._remembered(("ls", path, detail), super().ls, path, detail)

    def modified(self, path: str) -> Any:
        return self._remembered(("modified", path), super().modified, path)

    def _remembered(self, key: tuple[Any, ...], ask: Callable[..., Any], *arguments: Any) -> Any:
        if key not in self.dircache:
            self.dircache[key] = ask(*arguments)
        return self.dircache[key]

    def invalidate_cache(self, path: str | None = None) -> None:
        self.dircache.clear()


@pytest.fixture
def remembering() -> Iterator[Storage]:
    fsspec.register_implementation("remembering", RememberingStorage, clobber=True)
    yield Storage("remembering://images")
    RememberingStorage.store.clear()


def test_what_others_have_written_is_seen(remembering: Storage) -> None:
    """By way of other processes, of which the library here learns nothing."""
    first, second = (f"{remembering.root}/{name}" for name in "ab")
    others = MemoryFileSystem()
    others.pipe_file(first, b"")
    assert remembering.paths(remembering.root) == [first]
    assert remembering.age_s(first) < 1e9
    others.pipe_file(second, b"")
    others.store[first].modified = datetime.fromtimestamp(0, UTC)
    assert sorted(remembering.paths(remembering.root)) == [first, second]
    assert remembering.age_s(first) > 1e9
