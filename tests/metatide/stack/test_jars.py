import hashlib
import multiprocessing
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from hive.errors import InputError, MachineError
from metatide.stack import jars
from metatide.stack.ivy import Coordinates
from metatide.stack.jars import Jar, JarSet

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="stacks")]

SMALL = JarSet(
    "small",
    (
        Jar(
            Coordinates("org.slf4j", "slf4j-api", "1.7.36"),
            "d3ef575e3e4979678dc01bf1dcce51021493b4d11fb7f1be8ad982877c16a1c0",
            41125,
        ),
    ),
)


@pytest.mark.parametrize(
    "text", ["a.b:c:1", "a.b:c_2.13:1.0-rc:src@tar.gz", "a:b:1@zip", "a:b:1:linux-x86_64"]
)
def test_coordinates_are_written_as_they_are_read(text: str) -> None:
    assert str(Coordinates.parse(text)) == text


@pytest.mark.parametrize("text", ["", "a:b", "a:b:c:d:e", "a b:c:1"])
def test_what_is_not_coordinates_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="group:name:version"):
        Coordinates.parse(text)


def test_the_kafka_set_is_whole() -> None:
    folder = jars.fetch("kafka")
    assert (folder / "org.apache.kafka_kafka_2.13-4.1.2.jar").is_file()
    assert len(list(folder.iterdir())) == len(JarSet.load("kafka").jars)


def test_a_set_is_fetched_once(tmp_path: Path) -> None:
    folder = jars.install(SMALL, tmp_path)
    [jar] = folder.iterdir()
    fetched = jar.stat()
    assert jars.install(SMALL, tmp_path) == folder
    assert jar.stat().st_ino == fetched.st_ino
    assert [path.name for path in tmp_path.iterdir() if path.is_dir()] == [folder.name]


def test_what_the_environment_has_brought_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fetched = jars.fetch("kafka")
    monkeypatch.setattr(jars, "_INSTALLED", tmp_path)
    assert jars.path_of("kafka") == fetched
    (tmp_path / fetched.name).symlink_to(fetched)
    assert jars.path_of("kafka") == jars.fetch("kafka") == tmp_path / fetched.name


def test_processes_that_fetch_at_once_agree(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(2) as pool:
        folders = pool.starmap(jars.install, [(SMALL, tmp_path)] * 2)
    assert folders[0] == folders[1]
    assert SMALL.fault(folders[0]) is None


def test_a_jar_that_rots_in_the_cache_is_fetched_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = jars.install(SMALL, tmp_path)
    [jar] = folder.iterdir()
    jar.write_bytes(jar.read_bytes()[:-1] + b"?")
    jars.install(SMALL, tmp_path)
    assert hashlib.sha256(jar.read_bytes()).hexdigest() == SMALL.jars[0].sha256
    assert "slf4j-api:1.7.36 does not have the SHA-256" in capsys.readouterr().err


def test_a_stranger_in_the_folder_is_driven_out(tmp_path: Path) -> None:
    folder = jars.install(SMALL, tmp_path)
    (folder / "stranger.jar").write_bytes(b"")
    jars.install(SMALL, tmp_path)
    assert not (folder / "stranger.jar").exists()


def test_a_jar_unlike_its_lock_is_refused(tmp_path: Path) -> None:
    forged = replace(SMALL, jars=(replace(SMALL.jars[0], sha256="0" * 64),))
    with pytest.raises(MachineError, match=r"refused the jars of small: org\.slf4j:slf4j-api"):
        jars.install(forged, tmp_path)
    assert [path for path in tmp_path.iterdir() if path.is_dir()] == []


def test_no_room_on_disk_is_said_before_fetching(tmp_path: Path) -> None:
    huge = replace(SMALL, jars=(replace(SMALL.jars[0], size=1 << 60),))
    with pytest.raises(MachineError, match="free some disk space"):
        jars.install(huge, tmp_path)


def test_no_network_is_one_line(tmp_path: Path) -> None:
    nowhere = "-Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=1"
    done = subprocess.run(
        [sys.executable, "-m", "metatide.stack.jars", "fetch", "kafka"],
        env={**os.environ, "METATIDE_CACHE_DIR": str(tmp_path), "JAVA_TOOL_OPTIONS": nowhere},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last.startswith("metatide: fetching")
    assert "no network" in last


def test_an_artifact_that_does_not_exist_is_named(tmp_path: Path) -> None:
    unknown = replace(SMALL.jars[0], artifact=Coordinates("org.slf4j", "slf4j-api", "0.0.0"))
    with pytest.raises(MachineError, match=r"org\.slf4j#slf4j-api;0\.0\.0: not found"):
        jars.install(replace(SMALL, jars=(unknown,)), tmp_path)


def test_a_lock_holds_dependencies_classifiers_and_what_stands_alone(tmp_path: Path) -> None:
    (tmp_path / "mixed.toml").write_text(
        'with_dependencies = ["org.slf4j:jcl-over-slf4j:1.7.36"]\n'
        'alone = ["org.slf4j:slf4j-simple:1.7.36", "org.slf4j:slf4j-nop:1.7.36:sources"]\n'
    )
    jars.lock("mixed", tmp_path)
    locked = JarSet.load("mixed", tmp_path)
    assert [str(jar.artifact) for jar in locked.jars] == [
        "org.slf4j:jcl-over-slf4j:1.7.36",
        "org.slf4j:slf4j-api:1.7.36",
        "org.slf4j:slf4j-nop:1.7.36:sources",
        "org.slf4j:slf4j-simple:1.7.36",
    ]
    assert SMALL.jars[0] in locked.jars
    jars.install(locked, tmp_path / "cache")


def test_a_jar_that_is_gone_is_a_fault(tmp_path: Path) -> None:
    assert SMALL.fault(tmp_path) == "org.slf4j:slf4j-api:1.7.36 is missing"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["lock", "none", "SETS"], "there is no SETS/none.toml that says which artifacts 'none'"),
        (["lock", "odd", "SETS"], "SETS/odd.toml has an unknown key 'together'"),
        (["lock"], "usage: python -m metatide.stack.jars lock|fetch NAME"),
    ],
)
def test_what_cannot_be_locked_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], says: str
) -> None:
    (tmp_path / "odd.toml").write_text("together = []\n")
    assert jars._main([text.replace("SETS", str(tmp_path)) for text in arguments]) == 2
    says = says.replace("SETS", str(tmp_path))
    assert capsys.readouterr().err.startswith(f"metatide: {says}")


def test_the_program_prints_what_it_has_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(jars, "lock", lambda name, sets=Path("sets"): sets / f"{name}.lock")
    monkeypatch.setattr(jars, "fetch", lambda name: tmp_path / name)
    for arguments in (["lock", "a"], ["lock", "a", "/b"], ["fetch", "a"]):
        assert jars._main(arguments) == 0
    assert capsys.readouterr().out.split() == ["sets/a.lock", "/b/a.lock", f"{tmp_path}/a"]


def test_an_unknown_set_is_an_input_error() -> None:
    with pytest.raises(InputError, match="no set of jars named 'nothing'"):
        jars.fetch("nothing")
