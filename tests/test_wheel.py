"""That the wheels work by themselves: without the checkout, and with what they declare to need."""

import functools
import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Callable
from email import message_from_bytes
from hashlib import sha256
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from tests.support.distributions import closure
from tests.support.processes import open_folder

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="stacks")]

ROOT = Path(__file__).parents[1]
PACKAGES = {"hive", "state", "connectors", "processors", "query_api", "metatide"}
OURS = {"metatide", "metatide-client"}
WITH_KERBEROS = {
    *(f"query_api.thrift.sasl.{name}" for name in ("kerberos", "protected_frames")),
    "query_api.thrift.http_transport.negotiate",
    "query_api.thrift.metastore.login.kerberos",
}
WITH_JWT = {f"query_api.thrift.http_transport.{name}" for name in ("bearer", "key_set")}
ON_SPARK = "connectors.loads.spark.", "processors.spark.", "metatide.spark."
IMPORT_ALL = """
import importlib, json, sys
files = {}
for name in sys.argv[1:]:
    try:
        files[name] = importlib.import_module(name).__file__
    except ModuleNotFoundError as error:
        files[name] = error.name
print(json.dumps(files))
"""


Environments = Callable[[str], Path]


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the wheels and source distributions of both distributions."""
    folder = tmp_path_factory.mktemp("dist")
    build(folder)
    return folder


def build(folder: Path, root: Path = ROOT, **environ: str) -> None:
    """As a release does: sources first, and the wheels from these."""
    elsewhere = {"GITHUB_SERVER_URL": "", "GITHUB_REPOSITORY": ""}
    for project in (root, root / "packages" / "client"):
        command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
        run(command, project, **elsewhere | environ)


@pytest.fixture(scope="module")
def wheel(dist: Path) -> Path:
    [path] = dist.glob("metatide-*.whl")
    return path


@pytest.fixture(scope="module")
def environments(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Environments:
    """Pythons that have what a requirement brings, and no more."""
    uv = run([str(ROOT / "scripts" / "uv")], ROOT).strip()

    @functools.cache
    def made(text: str) -> Path:
        requirement = Requirement(text)
        folder = tmp_path_factory.mktemp("environment")
        run([uv, "venv", "--quiet", "--offline", "--python", sys.executable, str(folder)], folder)
        python = folder / "bin" / "python"
        needed = folder / "needed"
        needed.mkdir()
        distributions = [*closure(requirement.name, requirement.extras)]
        ours = {requirement.name} | {one.name for one in distributions if one.name in OURS}
        wheels = [
            str(path) for name in ours for path in dist.glob(f"{name.replace('-', '_')}-*.whl")
        ]
        assert len(wheels) == len(ours)
        install = [uv, "pip", "install", "--quiet", "--offline", "--no-deps"]
        run([*install, "--python", str(python), *wheels], folder)
        for distribution in distributions:
            if distribution.name not in OURS:
                link(distribution, needed)
        [site] = folder.glob("lib/python*/site-packages")
        (site / "needed.pth").write_text(f"{needed}\n")
        return python

    return made


def link(distribution: importlib.metadata.Distribution, folder: Path) -> None:
    for name in {file.parts[0] for file in distribution.files or ()} - {"..", "__pycache__"}:
        path = folder / name
        if not path.is_symlink():
            path.symlink_to(Path(str(distribution.locate_file(name))))


@pytest.fixture(scope="module")
def python(environments: Environments) -> Path:
    return environments("metatide")


def run(command: list[str], folder: Path, **environ: str) -> str:
    usual = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    done = subprocess.run(
        command, cwd=folder, env=usual | environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def modules(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        files = [Path(name) for name in archive.namelist() if name.endswith(".py")]
    parts = [file.with_suffix("").parts for file in files]
    names = {".".join(one[:-1] if one[-1] == "__init__" else one) for one in parts}
    return sorted(names - {"metatide.__main__"})


def tracked(*folders: str) -> set[Path]:
    """The files of a checkout that belong into a wheel."""
    lines = run(["git", "ls-files", *folders], ROOT).splitlines()
    return {Path(line) for line in lines if (ROOT / line).exists()}


def test_the_wheels_hold_our_packages_whole_and_nothing_else(dist: Path) -> None:
    contents = {}
    for path in dist.glob("*.whl"):
        with zipfile.ZipFile(path) as archive:
            contents[path.name.partition("-")[0]] = {Path(name) for name in archive.namelist()}
    client = tracked("metatide/client")
    for name, files in (("metatide_client", client), ("metatide", tracked(*PACKAGES) - client)):
        assert {path for path in contents[name] if path.parts[0] in PACKAGES} == files
        others = {path.parts[0] for path in contents[name]} - PACKAGES
        assert others == {f"{name}-0.1.0.dist-info"}
        assert Path(f"{name}-0.1.0.dist-info/licenses/LICENSE") in contents[name]


def test_both_distributions_have_one_version_and_one_licence() -> None:
    projects = [
        tomllib.loads(path.read_text())["project"]
        for path in (ROOT / "pyproject.toml", ROOT / "packages" / "client" / "pyproject.toml")
    ]
    [version] = {project["version"] for project in projects}
    assert f"metatide-client=={version}" in projects[0]["dependencies"]
    licence = (ROOT / "LICENSE").read_bytes()
    assert (ROOT / "packages" / "client" / "LICENSE").read_bytes() == licence


def test_a_release_names_its_repository(dist: Path, tmp_path: Path) -> None:
    assert {tuple(project_urls(path)) for path in dist.glob("*.whl")} == {()}
    build(tmp_path, GITHUB_SERVER_URL="https://git.example", GITHUB_REPOSITORY="tide/metatide")
    home = "https://git.example/tide/metatide"
    for path in tmp_path.glob("*.whl"):
        assert project_urls(path) == [
            f"Repository, {home}",
            f"Documentation, {home}/tree/v0.1.0/docs",
            f"Changelog, {home}/blob/v0.1.0/CHANGELOG.md",
            f"Issues, {home}/issues",
        ]


def project_urls(wheel: Path) -> list[str]:
    with zipfile.ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        metadata = message_from_bytes(archive.read(name))
    return metadata.get_all("Project-URL", [])


def test_a_build_is_repeated_to_the_byte(dist: Path, tmp_path: Path) -> None:
    """From another folder, with other times and rights of files."""
    copy = tmp_path / "copy"
    for name in run(["git", "ls-files"], ROOT).splitlines():
        if (ROOT / name).is_file():
            target = copy / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, target)
            target.chmod(0o700 if target.stat().st_mode & 0o100 else 0o600)
    again = tmp_path / "again"
    build(again, copy)
    assert hashes(again) == hashes(dist)


def hashes(folder: Path) -> dict[str, str]:
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in folder.iterdir()}


@pytest.mark.parametrize("requirement", ["metatide", "metatide[spark]", "metatide[embedded]"])
def test_each_module_is_imported_from_the_wheel(
    requirement: str, wheel: Path, environments: Environments
) -> None:
    names, python = modules(wheel), environments(requirement)
    files = json.loads(run([str(python), "-I", "-c", IMPORT_ALL, *names], python.parent))
    assert set(files) == set(names)
    untraced = {name for name, file in files.items() if file == "opentelemetry"}
    assert all("trac" in name.rpartition(".")[2] for name in untraced)
    without_spark = {name for name, file in files.items() if file == "pyspark"}
    assert all(name.startswith(ON_SPARK) for name in without_spark)
    assert bool(without_spark) == (requirement == "metatide")
    without_kerberos = {name for name, file in files.items() if file == "gssapi"}
    assert without_kerberos == WITH_KERBEROS
    without_jwt = {name for name, file in files.items() if file == "jwt"}
    assert without_jwt == WITH_JWT
    lacking = untraced | without_spark | without_kerberos | without_jwt
    present = [Path(file) for name, file in files.items() if name not in lacking]
    assert [file for file in present if not file.is_relative_to(python.parents[1])] == []


def test_the_client_works_alone(environments: Environments) -> None:
    python = environments("metatide-client")
    code = "import metatide.client, sys; print(*metatide.client.__all__); import metatide.cli"
    done = subprocess.run(
        [python, "-I", "-c", code], capture_output=True, text=True, check=False, cwd=python.parent
    )
    assert "AsyncClient" in done.stdout
    assert "No module named 'metatide.cli'" in done.stderr


@pytest.mark.parametrize(
    "requirement", ["metatide-client", "metatide", "metatide[spark]", "metatide[embedded]"]
)
def test_an_installation_takes_what_readme_says(requirement: str) -> None:
    wanted = Requirement(requirement)
    distributions = [*closure(wanted.name, wanted.extras)]
    taken = sum(map(size, distributions)) / (1 << 20)
    readme = (ROOT / "README.md").read_text()
    [said] = re.findall(rf"^\| `{re.escape(requirement)}` \|.*\| (\d+) \|$", readme, re.MULTILINE)
    assert int(said) == pytest.approx(taken, rel=0.1)


def size(distribution: importlib.metadata.Distribution) -> int:
    paths = [Path(str(distribution.locate_file(file))) for file in distribution.files or ()]
    return sum(path.stat().st_size for path in paths if path.suffix != ".pyc" and path.is_file())


def test_its_command_runs(python: Path) -> None:
    metatide = str(python.parent / "metatide")
    assert run([metatide, "--help"], python.parent).startswith("Usage: metatide")
    assert run([metatide, "--version"], python.parent) == "metatide, version 0.1.0\n"
    assert '"kafka.topic"' in run([metatide, "config", "show"], python.parent)


@pytest.mark.parametrize(("command", "extra"), [("report", "spark"), ("up", "embedded")])
def test_a_command_says_which_extra_it_lacks(command: str, extra: str, python: Path) -> None:
    # As root, `up` runs PostgreSQL as a user who may not enter pytest's folders.
    with open_folder() as folder:
        metatide = str(python.parent / "metatide")
        line = refusal([metatide, command], folder, METATIDE_DATA_DIR=str(folder))
    assert f"not installed; install metatide[{extra}]" in line


def refusal(command: list[str], folder: Path, **environ: str) -> str:
    """The last line of a command that fails."""
    done = subprocess.run(
        command, cwd=folder, env=os.environ | environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 1, done.stdout + done.stderr
    return done.stderr.splitlines()[-1]


def test_a_package_of_the_same_name_is_refused(python: Path, tmp_path: Path) -> None:
    for name in ("hive", "state"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "__init__.py").touch()
        line = refusal([str(python), "-m", "metatide", "--version"], tmp_path)
        assert line.startswith(f"metatide: {tmp_path}/{name}/__init__.py is not Metatide's")
        (tmp_path / name / "__init__.py").unlink()
        (tmp_path / name).rmdir()


def test_a_package_that_another_distribution_has_replaced_is_refused(python: Path) -> None:
    [path] = python.parents[1].glob("lib/python*/site-packages/state/__init__.py")
    ours = path.read_bytes()
    # It may be a hard link into a cache.
    path.unlink()
    path.write_text("NEW_YORK = 'NY'\n")
    try:
        line = refusal([str(python.parent / "metatide"), "--version"], python.parent)
        assert line.startswith(f"metatide: {path} is not Metatide's")
    finally:
        path.write_bytes(ours)
