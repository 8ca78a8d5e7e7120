"""Named sets of jars, each fetched once into the cache and verified against its lock.

A set is two files in `jarsets/`: NAME.toml lists the wanted artifacts, NAME.lock the files they
were resolved to, each with its SHA-256 and size. `python -m metatide.stack.jars lock NAME` writes
the second from the first; a third argument names another folder of sets.
"""

import hashlib
import shutil
import sys
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Self

from hive.errors import InputError, MachineError, MetatideError
from hive.units import MIB
from metatide.config.paths import cache_dir
from metatide.stack import ivy
from metatide.stack.ivy import Coordinates
from metatide.stack.machine import file_lock, require_room
from state.folders import make_folder

SETS = Path(__file__).parent / "jarsets"
_INSTALLED = Path(sys.prefix) / "share" / "metatide" / "jars"
"""Sets that the environment has brought, as the image for Spark does."""


@dataclass(frozen=True)
class Jar:
    """A file in a lock."""

    artifact: Coordinates
    sha256: str
    size: int

    @classmethod
    def parse(cls, line: str) -> Self:
        sha256, size, artifact = line.split()
        return cls(Coordinates.parse(artifact), sha256, int(size))

    def __str__(self) -> str:
        return f"{self.sha256} {self.size:>9} {self.artifact}"

    def fault(self, folder: Path) -> str | None:
        """What is wrong with this file in `folder`; None if nothing is."""
        path = folder / self.artifact.file_name
        if not path.is_file():
            return f"{self.artifact} is missing"
        with path.open("rb") as stream:
            if hashlib.file_digest(stream, "sha256").hexdigest() != self.sha256:
                return f"{self.artifact} does not have the SHA-256 of the lock"
        return None


@dataclass(frozen=True)
class JarSet:
    """Locked jars under a name."""

    name: str
    jars: tuple[Jar, ...]

    @classmethod
    def load(cls, name: str, sets: Path = SETS) -> Self:
        path = sets / f"{name}.lock"
        if not path.is_file():
            raise InputError(f"there is no set of jars named {name!r} ({path} is missing)")
        return cls(name, tuple(map(Jar.parse, path.read_text().splitlines())))

    @property
    def folder_name(self) -> str:
        """The folder's name. It depends on the lock, so that different releases of Metatide can
        share a cache.
        """
        return f"{self.name}-{hashlib.sha256(repr(self.jars).encode()).hexdigest()[:12]}"

    def fault(self, folder: Path) -> str | None:
        """The first problem of `folder`, which should hold exactly these jars; None if there is
        none.
        """
        surplus = {path.name for path in folder.iterdir()} - {
            jar.artifact.file_name for jar in self.jars
        }
        if surplus:
            return f"{min(surplus)} does not belong there"
        return next(filter(None, (jar.fault(folder) for jar in self.jars)), None)


def path_of(name: str) -> Path:
    """Where `fetch` finds the jars of the set, or stores them."""
    folder_name = JarSet.load(name).folder_name
    installed = _INSTALLED / folder_name
    return installed if installed.is_dir() else cache_dir() / "jars" / folder_name


def fetch(name: str) -> Path:
    """The verified folder with exactly the jars of the set, which are fetched if necessary."""
    jars, folder = JarSet.load(name), path_of(name)
    if folder.is_relative_to(_INSTALLED) and jars.fault(folder) is None:
        return folder
    return install(jars, cache_dir() / "jars")


def install(jars: JarSet, cache: Path) -> Path:
    """Fetches the jars of the set into a folder of `cache`. Several processes may call this at
    once.
    """
    make_folder(cache)
    folder = cache / jars.folder_name
    with file_lock(cache / f".{jars.name}.lock"):
        if folder.is_dir():
            fault = jars.fault(folder)
            if fault is None:
                return folder
            print(f"metatide: fetching the jars in {folder} again: {fault}", file=sys.stderr)
            shutil.rmtree(folder)
        _fill(jars, folder)
    return folder


def _fill(jars: JarSet, folder: Path) -> None:
    require_room(folder.parent, 2 * sum(jar.size for jar in jars.jars) + 16 * MIB)
    # Here the next run finds what an interrupted one has fetched.
    fetched = folder.parent / f".{jars.name}.ivy"
    partial = Path(tempfile.mkdtemp(prefix=f".{jars.name}.", dir=folder.parent))
    text = f"fetching {len(jars.jars)} jars of {jars.name} once into {folder.parent}"
    try:
        ivy.retrieve_exactly([jar.artifact for jar in jars.jars], partial, fetched, text)
        fault = jars.fault(partial)
        if fault is not None:
            shutil.rmtree(fetched)
            raise MachineError(
                f"refused the jars of {jars.name}: {fault}; check what answers for the Maven "
                "repository here and run this again"
            )
        partial.chmod(0o755)
        partial.replace(folder)
        shutil.rmtree(fetched)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def lock(name: str, sets: Path = SETS) -> Path:
    """Resolves the artifacts of NAME.toml and writes NAME.lock."""
    source = sets / f"{name}.toml"
    if not source.is_file():
        raise InputError(f"there is no {source} that says which artifacts {name!r} has")
    wanted = tomllib.loads(source.read_text())
    unknown = wanted.keys() - {"with_dependencies", "alone"}
    if unknown:
        raise InputError(f"{source} has an unknown key {min(unknown)!r}")
    with tempfile.TemporaryDirectory(prefix="metatide-lock-") as cache:
        paths = ivy.resolve(
            map(Coordinates.parse, wanted.get("with_dependencies", [])),
            map(Coordinates.parse, wanted.get("alone", [])),
            Path(cache),
            f"resolving the jars of {name}",
        )
        jars = [
            Jar(artifact, hashlib.sha256(path.read_bytes()).hexdigest(), path.stat().st_size)
            for artifact, path in sorted(paths.items())
        ]
    target = sets / f"{name}.lock"
    target.write_text("".join(f"{jar}\n" for jar in jars))
    return target


def _main(arguments: list[str]) -> int:
    try:
        match arguments:
            case ["lock", name]:
                print(lock(name))
            case ["lock", name, sets]:
                print(lock(name, Path(sets)))
            case ["fetch", name]:
                print(fetch(name))
            case _:
                raise InputError("usage: python -m metatide.stack.jars lock|fetch NAME")
    except MetatideError as error:
        print(f"metatide: {error}", file=sys.stderr)
        return error.exit_status
    return 0


if __name__ == "__main__":
    sys.exit(_main(sys.argv[1:]))
