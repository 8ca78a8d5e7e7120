"""Classes that Java loads at once from an archive of its own making, which halves what it takes to
start a broker or a metastore."""

import hashlib
import os
import re
import secrets
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from hive.errors import MachineError
from hive.units import MIB
from metatide.config.paths import cache_dir
from metatide.stack.java import MAJOR_MIN
from metatide.stack.machine import file_lock, require_room
from metatide.stack.service import run_tool
from state.folders import make_folder

_UNFINISHED: Final = b"\0\0\0\0"
"""How an archive begins until Java has written all of it: the header comes last."""
_ROOM_BYTES: Final = 512 * MIB
_LEFT_S: Final = 24 * 3600
_QUIET: Final = ("-Xlog:cds=off", "-Xlog:cds+dynamic=off")
"""Java warns of each class that an archive can't hold."""


def class_options(program: str, java: Path, classes: str, behind: Path | None = None) -> list[str]:
    """The options by which Java runs a program of these classes, from its archive if there is one;
    else the run leaves one when it ends by itself or by SIGTERM. A folder with settings comes
    behind the classes: an archive is of jars alone.
    """
    jars = [jar for entry in classes.split(":") for jar in _jars(entry)]
    path = jars if behind is None else [*jars, str(behind)]
    archives: tuple[str, ...] = ()
    if _can_archive(java, jars):
        # Without an archive Java only takes longer.
        with suppress(MachineError, OSError):
            archives = _archive_options(program, java, jars)
    return [*archives, "-cp", ":".join(path)]


def _jars(entry: str) -> list[str]:
    """The jars of an entry in an order that stays the same, as an archive requires."""
    folder, star, _ = entry.partition("/*")
    return sorted(map(str, Path(folder).glob("*.jar"))) if star else [entry]


def _can_archive(java: Path, jars: list[str]) -> bool:
    release = _home(java) / "release"
    version = re.search(r'JAVA_VERSION="(\d+)', release.read_text()) if release.exists() else None
    return version is not None and int(version[1]) >= MAJOR_MIN and not any(map(_is_folder, jars))


def _is_folder(entry: str) -> bool:
    return not entry.endswith(".jar")


def _archive_options(program: str, java: Path, jars: list[str]) -> tuple[str, ...]:
    base = _base(java)
    key = hashlib.sha256(repr((_identity(java), jars)).encode()).hexdigest()[:12]
    target = _folder() / f"{program}-{key}.jsa"
    _remove_left(target.parent)
    _take_finished(target)
    if target.exists():
        files = target if base is None else f"{base}:{target}"
        return (f"-XX:SharedArchiveFile={files}", *_QUIET)
    # Where it can't write an archive, Java ends with an error.
    require_room(target.parent, _ROOM_BYTES)
    # Java may be killed while it writes, and would crash if it read a part of an archive.
    aside = target.with_name(f"{target.name}.{secrets.token_hex(4)}.new")
    beneath = () if base is None else (f"-XX:SharedArchiveFile={base}",)
    return (*beneath, f"-XX:ArchiveClassesAtExit={aside}", *_QUIET)


def _take_finished(target: Path) -> None:
    """Gives an archive that an earlier run has left its name, and removes what others left."""
    for aside in target.parent.glob(f"{target.name}.*.new"):
        with suppress(FileNotFoundError):
            if target.exists():
                aside.unlink()
            elif _is_whole(aside):
                aside.rename(target)


def _remove_left(folder: Path) -> None:
    """Removes what nobody has taken for a day."""
    for aside in folder.glob("*.new"):
        with suppress(FileNotFoundError):
            if time.time() - aside.stat().st_mtime > _LEFT_S:
                aside.unlink()


def _is_whole(archive: Path) -> bool:
    with archive.open("rb") as stream:
        os.fsync(stream.fileno())
        return stream.read(len(_UNFINISHED)) not in (b"", _UNFINISHED)


def _base(java: Path) -> Path | None:
    """The archive of Java's own classes, which the one of a program builds on, where Java's default
    isn't there. Raises MachineError if none can be made.
    """
    if (_home(java) / "lib" / "server" / "classes.jsa").exists():
        return None
    target = _folder() / f"java-{hashlib.sha256(_identity(java).encode()).hexdigest()[:12]}.jsa"
    if target.exists():
        return target
    with file_lock(target.with_suffix(".lock")):
        if not target.exists():
            aside = target.with_suffix(".new")
            command = (str(java), "-Xshare:dump", f"-XX:SharedArchiveFile={aside}")
            run_tool(command, "Java could not archive its classes")
            aside.rename(target)
    return target


def _identity(java: Path) -> str:
    """What tells one Java from another under the same path."""
    program = java.resolve()
    return f"{program} {program.stat().st_mtime_ns}"


def _home(java: Path) -> Path:
    return java.resolve().parents[1]


def _folder() -> Path:
    folder = cache_dir() / "classes"
    make_folder(folder)
    return folder
