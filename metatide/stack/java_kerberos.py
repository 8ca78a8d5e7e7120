"""Java's classes for SASL's GSSAPI, which the Java of the embedded metastore doesn't have."""

import shutil
import tempfile
from pathlib import Path
from typing import Final

from py4j.java_gateway import GatewayParameters, JavaGateway, launch_gateway

from hive.errors import MachineError
from metatide.config.paths import cache_dir
from metatide.stack.java import find_java
from metatide.stack.machine import file_lock
from state.folders import make_folder

_MODULE: Final = "modules/jdk.security.jgss"
_PROVIDER: Final = "com.sun.security.sasl.gsskerb.JdkSASL"
_VERSION: Final = slice(6, 8)
_VERSION_MAX: Final = 65
"""That of Java 21's classes."""
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
                _copy(find_java(), partial)
                partial.replace(folder)
            finally:
                shutil.rmtree(partial, ignore_errors=True)
    return folder


def _copy(program: Path, folder: Path) -> None:
    """Copies the classes from where Java itself reads them, for it keeps them in no jar."""
    port, token = launch_gateway(java_path=str(program), die_on_exit=True, enable_auth=True)
    java = JavaGateway(
        gateway_parameters=GatewayParameters(
            port=port, auth_token=token, auto_convert=True, enable_memory_management=False
        )
    )
    try:
        nio, root = java.jvm.java.nio.file, java.jvm.java.net.URI.create("jrt:/")
        text = java.jvm.java.lang.String
        module = nio.FileSystems.getFileSystem(root).getPath(_MODULE, java.new_array(text, 0))
        options = java.new_array(nio.FileVisitOption, 0)
        if not nio.Files.isDirectory(module, java.new_array(nio.LinkOption, 0)):
            raise MachineError(f"{program} has no Kerberos (jdk.security.jgss): {_INSTALL}")
        for path in nio.Files.walk(module, options).toArray():
            name = path.toString()
            if not name.endswith(".class") or name.endswith("module-info.class"):
                continue
            content: bytes = nio.Files.readAllBytes(path)
            if int.from_bytes(content[_VERSION]) > _VERSION_MAX:
                raise MachineError(f"{program} is newer than Java 21: {_INSTALL}")
            target = folder / name.removeprefix("/").removeprefix(f"{_MODULE}/")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
    finally:
        java.shutdown()
    services = folder / "META-INF" / "services"
    services.mkdir(parents=True)
    (services / "java.security.Provider").write_text(f"{_PROVIDER}\n")


_INSTALL: Final = (
    "the metastore of `metatide up` takes that from a Java of 17 to 21 (Debian: "
    "openjdk-17-jre-headless); set JAVA_HOME to one"
)
