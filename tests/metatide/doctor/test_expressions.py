"""What the doctor says of Hive's classes."""

from dataclasses import replace
from pathlib import Path

import pytest
from py4j.java_gateway import find_jar_path

from metatide.doctor import Status, Target, expressions
from metatide.stack import jars
from metatide.stack.metastore import own_classes

TARGET = Target(None, "metatide", 16, None, None)


def naming(classpath: str, java: Path | None = None) -> Target:
    return replace(TARGET, hive_classpath=classpath, hive_java=java)


def test_without_a_class_path_there_is_nothing_to_check() -> None:
    finding = expressions.readable(TARGET)
    assert finding.status is Status.UNCHECKED
    assert "the metastore answers" in finding.detail


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").touch()
    there, lacking, empty = find_jar_path(), str(tmp_path / "hive-exec.jar"), f"{tmp_path}/*"
    finding = expressions.readable(naming(f"{there}:{lacking}:{empty}"))
    assert finding.status is Status.FAILED
    assert finding.detail.endswith(f"isn't here: {lacking}, {empty}")
    assert expressions.readable(naming("")).status is Status.FAILED


def test_jars_that_are_not_hives() -> None:
    finding = expressions.readable(naming(find_jar_path()))
    assert finding.status is Status.FAILED
    assert "ClassNotFoundException" in finding.detail
    assert finding.remedy is not None
    assert finding.remedy.startswith("name hive-exec with all that it needs")


def test_a_java_that_is_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    finding = expressions.readable(naming(find_jar_path(), tmp_path / "java"))
    assert finding.status is Status.FAILED
    assert f"{tmp_path}/java can't be started" in finding.detail
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    finding = expressions.readable(naming(find_jar_path()))
    assert finding.status is Status.FAILED
    assert finding.remedy == "set thrift.hive_java, or install one"


@pytest.mark.hive
def test_hives_own_classes_are_fine() -> None:
    jars.fetch("hive")
    finding = expressions.readable(naming(*own_classes()))
    assert finding.status is Status.OK, finding
