"""The storage of images, whose faults are all of one kind."""

from collections.abc import Callable
from pathlib import Path

import pytest

from hive.errors import ImageError
from state.image.storage import Storage
from tests.support.silent_storage import URL

HERE = Path("file")
OPERATIONS: list[Callable[[Storage], object]] = [
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
def test_an_error_of_a_library_is_one_of_the_system(
    operation: Callable[[Storage], object],
) -> None:
    with pytest.raises(OSError, match="SilentStorageError: nothing answers") as error:
        operation(Storage(URL))
    assert "password" not in str(error.value)


def test_an_error_of_the_system_is_left_as_it_is(tmp_path: Path) -> None:
    storage = Storage(str(tmp_path))
    for operation in (storage.read, storage.age_s):
        with pytest.raises(FileNotFoundError):
            operation(f"{storage.root}/lost")
    assert storage.paths(f"{storage.root}/lost") == []
    assert not storage.remove(f"{storage.root}/lost")


def test_a_place_that_no_library_opens_is_refused() -> None:
    with pytest.raises(ImageError, match="can't be stored at nowhere://x"):
        Storage("nowhere://x")
