"""Packages that only some tests need, and that the environment doesn't have."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from metatide.config.paths import cache_dir
from metatide.stack.machine import file_lock
from state.folders import make_folder

_CHECKOUT = Path(__file__).parents[2]


def package_folder(name: str, release: int) -> Path:
    """The folder with the packages of `NAME-RELEASE.lock` beside this file. They are fetched into
    the cache once.
    """
    lock = Path(__file__).with_name(f"{name}-{release}.lock")
    cache = make_folder(cache_dir() / name)
    folder = cache / f"{release}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    with file_lock(cache / f".{release}.lock"):
        if not folder.is_dir():
            _install(lock, folder)
    return folder


def uv() -> str:
    """The installer of packages."""
    return subprocess.check_output([_CHECKOUT / "scripts" / "uv"], text=True).strip()


def _install(lock: Path, folder: Path) -> None:
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    command = [uv(), "pip", "install", "--quiet", "--require-hashes", "--python", sys.executable]
    try:
        subprocess.run([*command, "--target", partial, "-r", lock], check=True)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
