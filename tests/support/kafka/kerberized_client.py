"""confluent-kafka with Kerberos, which its wheels lack, compiled into the cache once."""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from metatide.config.paths import cache_dir
from metatide.stack.machine import file_lock
from state.folders import make_folder
from tests.support.locked_packages import uv

_LIBRARY: Final = Path(__file__).parents[3] / "scripts" / "librdkafka"
_OPTIONS: Final = ("--disable-curl", "--disable-zstd")
"""What isn't there beside libsasl2 can't be found by chance."""


def kerberized_kafka_client() -> Path:
    """The folder with the Python package, for the start of PYTHONPATH."""
    cache = make_folder(cache_dir() / "kafka-client")
    release = subprocess.check_output([_LIBRARY, "--release"], text=True).strip()
    # What is compiled for one Python can't be imported by another.
    folder = cache / f"{release}-{sys.implementation.cache_tag}"
    with file_lock(cache / ".lock"):
        if not folder.is_dir():
            print(f"metatide: building confluent-kafka {release} into {folder}", file=sys.stderr)
            partial = Path(tempfile.mkdtemp(prefix=f".{release}.", dir=cache))
            try:
                _build(release, partial, folder)
                partial.replace(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return folder / "python"


def _build(release: str, folder: Path, later: Path) -> None:
    """Builds in a folder what will be in another."""
    _run(folder, str(_LIBRARY), str(folder), *_OPTIONS)
    own = {
        "CFLAGS": f"-I{folder / 'include'}",
        "LDFLAGS": f"-L{folder / 'lib'} -Wl,-rpath,{later / 'lib'}",
    }
    target = ("--python", sys.executable, "--target", str(folder / "python"))
    options = ("--quiet", "--no-deps", "--no-cache", "--no-binary", "confluent-kafka")
    _run(folder, uv(), "pip", "install", *options, *target, f"confluent-kafka=={release}", **own)


def _run(folder: Path, *command: str, **environment: str) -> None:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-2000:]


if __name__ == "__main__":
    print(kerberized_kafka_client())
