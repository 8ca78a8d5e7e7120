"""That the wheel works by itself: without the checkout, and with what it declares to need."""

import importlib.metadata
import json
import os
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).parents[1]
PACKAGES = {"hive", "state", "connectors", "processors", "query_api", "metatide"}
IMPORT_ALL = """
import importlib, json, sys
print(json.dumps({name: importlib.import_module(name).__file__ for name in sys.argv[1:]}))
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder)]
    run([*build, str(ROOT)], ROOT)
    [path] = folder.glob("*.whl")
    return path


@pytest.fixture(scope="module")
def python(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A Python that has the wheel and the distributions that it needs, and no others."""
    folder = tmp_path_factory.mktemp("environment")
    uv = run([str(ROOT / "scripts" / "uv")], ROOT).strip()
    run([uv, "venv", "--quiet", "--offline", "--python", sys.executable, str(folder)], folder)
    python = folder / "bin" / "python"
    install = [uv, "pip", "install", "--quiet", "--offline", "--no-deps", "--python", str(python)]
    run([*install, str(wheel)], folder)
    needed = folder / "needed"
    needed.mkdir()
    for distribution in closure("metatide", {"embedded"}):
        for name in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
            link = needed / name
            if not link.is_symlink():
                link.symlink_to(Path(str(distribution.locate_file(name))))
    [site] = folder.glob("lib/python*/site-packages")
    (site / "needed.pth").write_text(f"{needed}\n")
    return python


def closure(name: str, extras: set[str]) -> Iterator[importlib.metadata.Distribution]:
    """The distributions that a distribution needs, with all that these need."""
    seen: set[tuple[str, frozenset[str]]] = set()
    waiting = [(name, frozenset(extras))]
    while waiting:
        package = waiting.pop()
        if package in seen:
            continue
        seen.add(package)
        distribution = importlib.metadata.distribution(package[0])
        if package[0] != name:
            yield distribution
        for text in distribution.requires or ():
            requirement = Requirement(text)
            marker = requirement.marker
            if marker is None or any(
                marker.evaluate({"extra": extra}) for extra in package[1] | {""}
            ):
                waiting.append((requirement.name, frozenset(requirement.extras)))


def run(command: list[str], folder: Path) -> str:
    environ = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def modules(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        files = [Path(name) for name in archive.namelist() if name.endswith(".py")]
    parts = [file.with_suffix("").parts for file in files]
    names = {".".join(one[:-1] if one[-1] == "__init__" else one) for one in parts}
    return sorted(names - {"metatide.__main__"})


def test_it_holds_our_packages_whole_and_nothing_else(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        held = {Path(name) for name in archive.namelist()}
    assert {file.parts[0] for file in held} - PACKAGES == {"metatide-0.1.0.dist-info"}
    tracked = subprocess.run(
        ["git", "ls-files", *sorted(PACKAGES)], cwd=ROOT, capture_output=True, text=True, check=True
    )
    missing = {Path(line) for line in tracked.stdout.splitlines()} - held
    assert not [path for path in missing if (ROOT / path).exists()]
    assert Path("metatide-0.1.0.dist-info/licenses/LICENSE") in held


def test_each_module_is_imported_from_the_wheel(wheel: Path, python: Path) -> None:
    names = modules(wheel)
    found = json.loads(run([str(python), "-I", "-c", IMPORT_ALL, *names], python.parent))
    assert set(found) == set(names)
    outside = [file for file in found.values() if not Path(file).is_relative_to(python.parents[1])]
    assert not outside


def test_its_command_runs(python: Path) -> None:
    metatide = str(python.parent / "metatide")
    assert run([metatide, "--help"], python.parent).startswith("Usage: metatide")
    assert run([metatide, "--version"], python.parent) == "metatide, version 0.1.0\n"
    assert '"kafka.topic"' in run([metatide, "config", "show"], python.parent)
