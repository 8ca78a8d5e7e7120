"""Java's classes for SASL's GSSAPI, which the Java of the environment doesn't have."""

import shutil
import tempfile
from pathlib import Path
from typing import Final

from metatide.config.paths import cache_dir
from metatide.stack.machine import file_lock
from state.folders import make_folder
from tests.support.hive_java import hive_java

_MODULE: Final = "modules/jdk.security.jgss/com/sun/security"
_PROVIDER: Final = "com.sun.security.sasl.gsskerb.JdkSASL"
_EXPORTS: Final = (
    "java.base/sun.security.util",
    "java.security.jgss/sun.security.jgss",
    "java.security.sasl/com.sun.security.sasl.util",
)
OPTIONS: Final = tuple(f"--add-exports={name}=ALL-UNNAMED" for name in _EXPORTS)
"""What lets the classes run on the class path."""


def classes() -> Path:
    """A folder with the classes of the system's Java, which is older: they run on newer ones."""
    cache = make_folder(cache_dir() / "java-kerberos")
    folder = cache / "classes"
    with file_lock(cache / ".lock"):
        if not folder.is_dir():
            partial = Path(tempfile.mkdtemp(prefix=".classes.", dir=cache))
            try:
                _copy(partial)
                partial.replace(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return folder


def _copy(folder: Path) -> None:
    with hive_java(release="4.0.1") as java:
        nio, root = java.jvm.java.nio.file, java.jvm.java.net.URI.create("jrt:/")
        text = java.jvm.java.lang.String
        system = nio.FileSystems.getFileSystem(root)
        source = system.getPath(_MODULE, java.new_array(text, 0))
        walk = nio.Files.walk(source, java.new_array(nio.FileVisitOption, 0))
        for path in walk.toArray():
            name = path.toString()
            if name.endswith(".class"):
                target = folder / name.removeprefix("/").removeprefix("modules/jdk.security.jgss/")
                target.parent.mkdir(parents=True, exist_ok=True)
                target.write_bytes(nio.Files.readAllBytes(path))
    services = folder / "META-INF" / "services"
    services.mkdir(parents=True)
    (services / "java.security.Provider").write_text(f"{_PROVIDER}\n")
