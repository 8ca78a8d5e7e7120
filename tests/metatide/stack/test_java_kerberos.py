"""Javas whose classes for Kerberos can't be used."""

import re
from pathlib import Path

import pytest

from hive.errors import MachineError
from metatide.stack import java_kerberos
from metatide.stack.java import find_java

# Each starts a Java.
pytestmark = pytest.mark.slow


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("_MODULE", "modules/no.such", "has no Kerberos (jdk.security.jgss)"),
        ("_VERSION_MAX", 0, "is newer than Java 21"),
    ],
)
def test_a_java_without_usable_classes_is_told_with_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, value: object, says: str
) -> None:
    monkeypatch.setenv("METATIDE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(java_kerberos, name, value)
    with pytest.raises(MachineError, match=f"^{re.escape(f'{find_java()} {says}: the metastore')}"):
        java_kerberos.classes()
    assert [path.name for path in (tmp_path / "java-kerberos").iterdir()] == [".lock"]
