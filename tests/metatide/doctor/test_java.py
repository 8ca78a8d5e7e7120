"""What the doctor says of Java."""

from dataclasses import replace
from pathlib import Path

import pytest

from metatide.doctor import Status, Target, java

TARGET = Target(None, "metatide", 16, None, None)


def test_the_java_of_this_machine_is_fine() -> None:
    assert java.version(TARGET).status is Status.OK


def test_a_missing_java_is_a_fault_only_where_it_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    finding = java.version(TARGET)
    assert finding.status is Status.FAILED
    assert finding.remedy is not None
    assert finding.remedy.startswith("install Java 17 or newer")
    assert java.version(replace(TARGET, needs_java=False)).status is Status.UNCHECKED
