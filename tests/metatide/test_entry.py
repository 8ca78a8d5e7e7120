"""Packages that are imported in place of ours; with installations, see `tests.test_wheel`."""

import base64
import hashlib
import importlib.metadata
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from metatide import entry
from metatide.entry import foreign_package

NAME = "metatide_package_of_a_test"


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an installation with one package."""
    monkeypatch.setattr(entry, "PACKAGES", (NAME,))
    site = tmp_path / "site"
    package(site)
    return site


def package(folder: Path) -> Path:
    path = folder / NAME / "__init__.py"
    path.parent.mkdir(parents=True)
    path.write_text("ours = True\n")
    return path


def install(patch: pytest.MonkeyPatch, record: str | None) -> None:
    """Has the distribution list its files so."""
    installed: Any = SimpleNamespace(read_text=lambda _: record)
    patch.setattr(importlib.metadata, "distribution", lambda _: installed)


def test_a_package_that_nobody_finds_is_told(site: Path) -> None:
    assert foreign_package(site) == site / NAME / "__init__.py"


def test_a_package_before_ours_is_told(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = package(tmp_path / "other")
    monkeypatch.syspath_prepend(str(other.parents[1]))
    assert foreign_package(site) == other


def test_a_file_that_has_replaced_ours_is_told(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(site))
    path = site / NAME / "__init__.py"
    digest = base64.urlsafe_b64encode(hashlib.sha256(path.read_bytes()).digest()).decode()
    install(monkeypatch, f"{NAME}/__init__.py,sha256={digest.rstrip('=')},12\n")
    assert foreign_package(site) is None
    path.write_text("ours = False\n")
    assert foreign_package(site) == path
    # An editable installation lists no such file.
    install(monkeypatch, None)
    assert foreign_package(site) is None


def test_without_an_installation_the_place_alone_counts(
    site: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def lack(name: str) -> None:
        raise importlib.metadata.PackageNotFoundError(name)

    monkeypatch.syspath_prepend(str(site))
    monkeypatch.setattr(importlib.metadata, "distribution", lack)
    assert foreign_package(site) is None


def test_a_stranger_ends_the_command_in_one_line(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(entry, "_SITE", site)
    with pytest.raises(SystemExit) as ended:
        entry.main()
    assert ended.value.code == 1
    out, err = capsys.readouterr()
    assert (out, err.count("\n")) == ("", 1)
    assert err.startswith(
        f"metatide: {site / NAME / '__init__.py'} is not Metatide's but of another"
    )
