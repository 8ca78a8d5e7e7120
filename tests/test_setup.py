"""What `make` says on a machine that lacks something, before it touches anything, and what
continuous integration makes of its own.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SETUP = ROOT / "scripts" / "setup"


def refusal(**variables: str) -> str:
    """The one line that the script fails with."""
    done = subprocess.run(
        [SETUP], env=os.environ | variables, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stdout == ""
    [line] = done.stderr.splitlines()
    return line


def program(path: Path, script: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize(
    ("script", "fault"),
    [
        ("echo 'openjdk version \"11.0.2\" 2019-01-15' >&2", "is Java 11, which is too old"),
        ("echo 'java version \"1.8.0_292\"' >&2", "is Java 8, which is too old"),
        ("echo hello", "is Java of an unknown version"),
        ("exit 127", "does not run"),
    ],
)
def test_an_old_or_broken_java_is_refused(tmp_path: Path, script: str, fault: str) -> None:
    program(tmp_path / "bin" / "java", script)
    assert f"{fault}; install Java 17 or newer" in refusal(JAVA_HOME=str(tmp_path))


def test_a_missing_java_is_named(tmp_path: Path) -> None:
    assert f"there is no java at {tmp_path}/bin/java" in refusal(JAVA_HOME=str(tmp_path))


def test_an_old_python_is_refused(tmp_path: Path) -> None:
    old = program(tmp_path / "python", '[ "$1" = --version ] && echo Python 3.9.2 || exit 1')
    assert refusal(PYTHON=str(old)) == (
        "metatide: Python 3.9.2 is too old; install Python 3.11 or newer, or set PYTHON to one"
    )


def test_a_missing_python_is_named(tmp_path: Path) -> None:
    assert f"no {tmp_path}/python on the PATH" in refusal(PYTHON=f"{tmp_path}/python")


def test_git_reads_a_checkout_that_another_user_owns(tmp_path: Path) -> None:
    checkout, home = tmp_path / "checkout", tmp_path / "home"
    home.mkdir()
    (checkout / ".ci").mkdir(parents=True)
    machine = shutil.copy(ROOT / ".ci" / "machine", checkout / ".ci")
    installs_nothing = program(tmp_path / "bin" / "apt-get", "exit 0")
    environ = {
        **{name: text for name, text in os.environ.items() if not name.startswith("GIT_")},
        "HOME": str(home),
        "PATH": f"{installs_nothing.parent}:{os.environ['PATH']}",
    }
    subprocess.run(["git", "init", "--quiet", checkout], env=environ, check=True)
    subprocess.run([machine], env=environ, check=True)
    assert not (home / ".gitconfig").exists()
    environ["GIT_TEST_ASSUME_DIFFERENT_OWNER"] = "1"
    for _ in range(2):
        subprocess.run([machine], env=environ, check=True)
    subprocess.run(["git", "ls-files"], cwd=checkout, env=environ, check=True)
    assert (home / ".gitconfig").read_text().count("directory = ") == 1
