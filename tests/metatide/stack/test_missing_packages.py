"""What is said where a package isn't installed that a stack needs."""

import importlib.util
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from pathlib import Path

import pytest

from hive.errors import MachineError
from metatide.stack import ivy
from metatide.stack.metastore import java_21
from metatide.stack.ports import Ports
from metatide.stack.postgres import Postgres


def programs(folder: Path) -> Path:
    return Postgres(folder / "postgres", Ports(folder / "ports.json"))._programs()


@pytest.mark.parametrize(
    ("find", "lacks"),
    [
        (lambda _: java_21(), "the Java 21 of the embedded metastore is not installed"),
        (programs, "the embedded PostgreSQL is not installed"),
        (lambda _: ivy._ivy(), "PySpark, whose Ivy fetches jars, is not installed"),
    ],
)
def test_the_extra_that_brings_it_is_named(
    find: Callable[[Path], Path], lacks: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: None)
    with pytest.raises(MachineError, match=rf"^{lacks}; install metatide\[embedded\]"):
        find(tmp_path)


def test_a_spark_without_ivy_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    spec = ModuleSpec("pyspark", None, origin=str(tmp_path / "__init__.py"))
    monkeypatch.setattr(importlib.util, "find_spec", lambda _: spec)
    with pytest.raises(MachineError, match=f"^PySpark in {tmp_path} has no Ivy; install it again$"):
        ivy._ivy()
