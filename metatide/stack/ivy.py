"""Runs Apache Ivy, which is part of PySpark, to fetch Maven artifacts."""

import importlib.util
import re
import subprocess
import tempfile
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Self
from xml.sax.saxutils import quoteattr

from hive.errors import InputError, MachineError
from metatide.stack.java import find_java
from metatide.stack.progress import progress
from metatide.stack.service import child_environment

_NAMESPACE = 'xmlns:m="http://ant.apache.org/ivy/maven"'
_EXACT_SETTINGS = """<ivysettings>
  <settings defaultResolver="maven"/>
  <resolvers>
    <ibiblio name="maven" m2compatible="true" usepoms="false" checksums=""/>
  </resolvers>
</ivysettings>
"""
_UNREACHABLE = re.compile(
    r"UnknownHostException|Host .* not found|ConnectException|Connection refused"
    r"|SocketTimeout|timed out|NoRouteToHost|Network is unreachable|SSLHandshake"
)
_FRAME = re.compile(r"\s+(at |\.\.\. \d+ more)")  # of a Java stack trace
_POLL_S = 0.05


@dataclass(frozen=True, order=True)
class Coordinates:
    """The coordinates of an artifact, written as `group:name:version[:classifier][@extension]`."""

    group: str
    name: str
    version: str
    classifier: str = ""
    extension: str = "jar"

    @classmethod
    def parse(cls, text: str) -> Self:
        match = re.fullmatch(r"([^:@\s]+):([^:@\s]+):([^:@\s]+)(?::([^:@\s]+))?(?:@(\S+))?", text)
        if match is None:
            raise InputError(f"{text!r} is not group:name:version[:classifier][@extension]")
        return cls(match[1], match[2], match[3], match[4] or "", match[5] or "jar")

    def __str__(self) -> str:
        classifier = f":{self.classifier}" if self.classifier else ""
        extension = f"@{self.extension}" if self.extension != "jar" else ""
        return f"{self.group}:{self.name}:{self.version}{classifier}{extension}"

    @property
    def file_name(self) -> str:
        classifier = f"-{self.classifier}" if self.classifier else ""
        return f"{self.group}_{self.name}-{self.version}{classifier}.{self.extension}"


def retrieve_exactly(artifacts: Iterable[Coordinates], into: Path, cache: Path, text: str) -> None:
    """Fetches these artifacts and no others; each is stored in `into` under its `file_name`."""
    dependencies = [_dependency(artifact, transitive=False, named=True) for artifact in artifacts]
    pattern = f"{into}/[organisation]_[artifact]-[revision](-[classifier]).[ext]"
    _run(dependencies, pattern, cache, text, exact=True)


def resolve(
    with_dependencies: Iterable[Coordinates], alone: Iterable[Coordinates], cache: Path, text: str
) -> dict[Coordinates, Path]:
    """Fetches artifacts, those of the first list with their runtime dependencies."""
    into = cache / "resolved"
    dependencies = [
        _dependency(artifact, transitive=True, named=False) for artifact in with_dependencies
    ]
    dependencies += [_dependency(artifact, transitive=False, named=True) for artifact in alone]
    pattern = f"{into}/[organisation]/[artifact]/[revision]/[classifier]/file.[ext]"
    _run(dependencies, pattern, cache, text, exact=False)
    paths = {}
    for path in into.rglob("file.*"):
        group, name, version, *classifier = path.relative_to(into).parts[:-1]
        extension = path.name.removeprefix("file.")
        # If an artifact has no classifier, Ivy leaves the token in the path.
        wanted = "".join(classifier).replace("[classifier]", "")
        paths[Coordinates(group, name, version, wanted, extension)] = path
    return paths


def _dependency(artifact: Coordinates, *, transitive: bool, named: bool) -> str:
    opening = (
        f"<dependency org={quoteattr(artifact.group)} name={quoteattr(artifact.name)} "
        f'rev={quoteattr(artifact.version)} conf="default->default" '
        f'transitive="{str(transitive).lower()}"'
    )
    if not named:
        return f"{opening}/>"
    classifier = f" m:classifier={quoteattr(artifact.classifier)}" if artifact.classifier else ""
    extension = quoteattr(artifact.extension)
    return (
        f"{opening}><artifact name={quoteattr(artifact.name)} type={extension} "
        f"ext={extension}{classifier}/></dependency>"
    )


def _run(dependencies: list[str], pattern: str, cache: Path, text: str, *, exact: bool) -> None:
    java = find_java()
    with tempfile.TemporaryDirectory(prefix="metatide-ivy-") as name:
        folder = Path(name)
        module = folder / "ivy.xml"
        module.write_text(
            f'<ivy-module version="2.0" {_NAMESPACE}><info organisation="metatide" module="jars"/>'
            '<configurations><conf name="default"/></configurations>'
            f"<dependencies>{''.join(dependencies)}</dependencies></ivy-module>"
        )
        command = [str(java), "-XX:TieredStopAtLevel=1", "-jar", str(_ivy())]
        command += ["-cache", str(cache), "-ivy", str(module)]
        if exact:
            settings = folder / "settings.xml"
            settings.write_text(_EXACT_SETTINGS)
            command += ["-settings", str(settings)]
        command += ["-retrieve", pattern]
        log = folder / "log"
        with log.open("wb") as out, progress(text) as shown:
            process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, env=child_environment()
            )
            try:
                while process.poll() is None:
                    time.sleep(_POLL_S)
                    shown.update(_fetched(cache))
            finally:
                process.kill()
                process.wait()
        if process.returncode != 0:
            raise MachineError(_reason(text, log.read_text(errors="replace")))


def _fetched(cache: Path) -> str:
    return f"{sum(path.suffix != '.part' for path in cache.glob('*/*/*s/*'))} so far"


def _reason(text: str, log: str) -> str:
    """The decisive one of the hundreds of lines that Ivy prints when it fails."""
    if "No space left on device" in log:
        return f"{text}: no space left on the disk; free some and run this again"
    if _UNREACHABLE.search(log):
        return (
            f"{text}: no network, or no way to the Maven repository; check the connection "
            "(a proxy goes into JAVA_TOOL_OPTIONS=-Dhttps.proxyHost=…) and run this again"
        )
    missing = re.findall(r":: (\S+#\S+: .*)", log)
    if missing:
        return f"{text}: {missing[0]}" + (f" and {len(missing) - 1} more" if missing[1:] else "")
    lines = [line.strip() for line in log.splitlines() if line.strip() and not _FRAME.match(line)]
    return f"{text}: Ivy failed: {lines[-1] if lines else 'it wrote nothing'}"


def _ivy() -> Path:
    spec = importlib.util.find_spec("pyspark")
    if spec is None or spec.origin is None:
        raise MachineError(
            "PySpark, whose Ivy fetches jars, is not installed; install metatide[embedded]"
        )
    jars = sorted(Path(spec.origin).parent.glob("jars/ivy-*.jar"))
    if not jars:
        raise MachineError(f"PySpark in {Path(spec.origin).parent} has no Ivy; install it again")
    return jars[-1]
