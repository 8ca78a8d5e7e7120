"""What commands say of a data folder in which they can't write."""

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from hive.errors import InputError, MachineError
from metatide.cli import root
from processors.directory import WorkerDirectory

KAFKA = ("--kafka", "127.0.0.1:1")
IMAGES = (*KAFKA, "--images", "memory://images")


@pytest.mark.parametrize(
    "command",
    [
        ("up", *KAFKA),
        ("work", *KAFKA),
        ("rebuild", *KAFKA),
        ("image", "create", *IMAGES),
        ("image", "restore", *IMAGES),
        ("serve", "--from-images", *IMAGES),
    ],
)
def test_a_folder_that_cannot_be_made_is_said_first(
    tmp_path: Path, command: tuple[str, ...]
) -> None:
    (tmp_path / "file").touch()
    folder = tmp_path / "file" / "data"
    result = CliRunner().invoke(root, [*command, "--data-dir", str(folder)])
    assert isinstance(result.exception, MachineError), result.exception
    assert f"cannot create the folder {folder}: Not a directory; solve" in str(result.exception)


def test_it_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    command = [sys.executable, "-m", "metatide", "work", *KAFKA, "--data-dir", f"{tmp_path}/data"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"metatide: cannot create the folder {tmp_path / 'data'}: File exists; "
        "solve that or choose another\n"
    )


@pytest.mark.parametrize("name", ["shards", "lock"])
def test_a_worker_whose_files_cannot_be_made_is_told(tmp_path: Path, name: str) -> None:
    path = tmp_path / "workers" / "worker-1"
    (path / "lock").mkdir(parents=True)
    if name == "shards":
        (path / "shards").touch()
    with (
        pytest.raises(MachineError, match=f"cannot (create|write).*worker-1/{name}: "),
        WorkerDirectory(path).owned(),
    ):
        pass


@pytest.mark.parametrize(
    ("command", "lacks"),
    [
        (("work",), "no Kafka: start `metatide up`, or give --kafka HOST:PORT; a stack was"),
        (("serve", "--from-images", *KAFKA), "give the place of the images (--images URL)"),
    ],
)
def test_what_a_server_lacks_is_said_before_anything_is_made(
    tmp_path: Path, command: tuple[str, ...], lacks: str
) -> None:
    folder = tmp_path / "data"
    result = CliRunner().invoke(root, [*command, "--data-dir", str(folder)])
    assert isinstance(result.exception, InputError)
    assert str(result.exception).startswith(lacks)
    assert not folder.exists()
