"""Archives of classes, as Java itself makes and uses them."""

import os
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from metatide.stack import class_archive, jars
from metatide.stack.class_archive import class_options
from metatide.stack.java import find_java
from metatide.stack.metastore import java_21

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="stacks")]

JAVAS = pytest.mark.parametrize("find", [find_java, java_21], ids=["with an archive", "without"])
PROGRAM = "kafka.tools.StorageTool"


@pytest.fixture(scope="module")
def kafka() -> Path:
    return jars.fetch("kafka")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kafka: Path) -> Path:
    """The folder of the archives."""
    monkeypatch.setenv("METATIDE_CACHE_DIR", str(tmp_path))
    return tmp_path / "classes"


def run(java: Path, options: list[str], *more: str) -> list[str]:
    """The lines that the program prints."""
    command = [str(java), *more, *options, PROGRAM, "random-uuid"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


@JAVAS
def test_the_second_run_takes_its_classes_from_what_the_first_has_left(
    find: Callable[[], Path], kafka: Path, cache: Path, tmp_path: Path
) -> None:
    java = find()
    settings = tmp_path / "settings"
    settings.mkdir()
    (settings / "a.properties").touch()
    for is_archived in (False, True):
        options = class_options("tool", java, f"{kafka}/*", behind=settings)
        lines = run(java, options, "-Xlog:class+load")
        [loaded] = [line for line in lines if f" {PROGRAM} source: " in line]
        assert loaded.endswith("shared objects file (top)") == is_archived
    assert [path.suffix for path in cache.glob("tool-*")] == [".jsa"]


def test_what_java_was_killed_over_is_not_used(kafka: Path, cache: Path) -> None:
    java = find_java()
    first = class_options("tool", java, f"{kafka}/*")
    [aside] = [option.partition("=")[2] for option in first if "ArchiveClassesAtExit" in option]
    Path(aside).write_bytes(bytes(100_000))
    # It prints what it is to, and no warning of an archive.
    assert len(run(java, class_options("tool", java, f"{kafka}/*"))) == 1
    assert "-XX:SharedArchiveFile" in class_options("tool", java, f"{kafka}/*")[0]


@pytest.mark.parametrize("fault", ["no room", "no folder"])
def test_where_none_can_be_written_java_goes_without(
    fault: str, kafka: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Java itself would end with an error."""
    if fault == "no room":
        monkeypatch.setattr(class_archive, "_ROOM_BYTES", 1 << 60)
    else:
        (tmp_path / "classes").touch()
    assert class_options("tool", find_java(), f"{kafka}/*")[0] == "-cp"


def test_what_nobody_took_is_removed_after_a_day(kafka: Path, cache: Path) -> None:
    cache.mkdir()
    old, new = cache / "other-1.jsa.1.new", cache / "other-2.jsa.1.new"
    for path in (old, new):
        path.touch()
    os.utime(old, (time.time() - 100_000,) * 2)
    class_options("tool", find_java(), f"{kafka}/*")
    assert list(cache.iterdir()) == [new]


def test_other_classes_have_another_archive(kafka: Path) -> None:
    java = find_java()
    assert len(run(java, class_options("tool", java, f"{kafka}/*"))) == 1
    [_, *others] = sorted(map(str, kafka.glob("*.jar")))
    assert "-XX:ArchiveClassesAtExit" in class_options("tool", java, ":".join(others))[0]


def test_a_java_that_knows_no_archives_and_folders_of_classes_go_without(
    kafka: Path, tmp_path: Path
) -> None:
    old = tmp_path / "java" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.touch()
    assert class_options("tool", old, "a.jar:b.jar") == ["-cp", "a.jar:b.jar"]
    (tmp_path / "java" / "release").write_text('JAVA_VERSION="11.0.2"\n')
    assert class_options("tool", old, "a.jar") == ["-cp", "a.jar"]
    assert class_options("tool", find_java(), f"{tmp_path}:a.jar") == ["-cp", f"{tmp_path}:a.jar"]
