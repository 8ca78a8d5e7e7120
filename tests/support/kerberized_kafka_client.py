"""confluent-kafka with Kerberos, which its wheels lack, compiled with libsasl2 into the cache once.

The source of librdkafka comes within the package of Confluent's client for Node: none of Python's
packages has it, and Debian's are too old.
"""

import hashlib
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Final

from metatide.config.paths import cache_dir
from metatide.stack.machine import file_lock
from state.folders import make_folder
from tests.support.locked_packages import uv

RELEASE: Final = "2.15.1"
_SOURCE: Final = "@confluentinc/kafka-javascript@1.10.1"
_SHA512: Final = (
    "29578f5019f6d44a8254ff667f1cc4b8cdd26091c7105ed7fa2882d9ee374108"
    "034b211a92c2279821a8a13df0e6af9c340764482acaef58f42027eaa12a992f"
)
_WITHIN: Final = "package/deps/librdkafka"
_OPTIONS: Final = ("--enable-gssapi", "--disable-curl", "--disable-zstd", "--disable-lz4-ext")
"""What isn't there beside libsasl2 can't be found by chance."""


def kerberized_kafka_client() -> Path:
    """The folder with the Python package, for the start of PYTHONPATH."""
    cache = make_folder(cache_dir() / "kafka-client")
    folder = cache / RELEASE
    with file_lock(cache / ".lock"):
        if not folder.is_dir():
            print(f"metatide: building confluent-kafka {RELEASE} into {folder}", file=sys.stderr)
            partial = Path(tempfile.mkdtemp(prefix=f".{RELEASE}.", dir=cache))
            try:
                _build(partial, folder)
                partial.replace(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return folder / "python"


def _build(folder: Path, later: Path) -> None:
    """Builds in a folder what will be in another."""
    with tempfile.TemporaryDirectory(prefix="metatide-kafka-client-") as name:
        source = _fetch(Path(name))
        library, headers = folder / "lib", folder / "include" / "librdkafka"
        library.mkdir()
        headers.mkdir(parents=True)
        _run(source, "./configure", *_OPTIONS)
        _run(source, "make", "-C", "src", "librdkafka.so.1")
        for header in ("rdkafka.h", "rdkafka_mock.h"):
            shutil.copy(source / "src" / header, headers)
        shutil.copy(source / "src" / "librdkafka.so.1", library)
    (library / "librdkafka.so").symlink_to("librdkafka.so.1")
    own = {
        "CFLAGS": f"-I{folder / 'include'}",
        "LDFLAGS": f"-L{library} -Wl,-rpath,{later / 'lib'}",
    }
    target = ("--python", sys.executable, "--target", str(folder / "python"))
    options = ("--quiet", "--no-deps", "--no-cache", "--no-binary", "confluent-kafka")
    _run(folder, uv(), "pip", "install", *options, *target, f"confluent-kafka=={RELEASE}", **own)


def _fetch(folder: Path) -> Path:
    """The folder with the source of librdkafka, once its hash is right."""
    _run(folder, "npm", "pack", "--silent", _SOURCE)
    [archive] = folder.glob("*.tgz")
    assert hashlib.sha512(archive.read_bytes()).hexdigest() == _SHA512
    with tarfile.open(archive) as files:
        files.extractall(folder, filter="data")
    return folder / _WITHIN


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
