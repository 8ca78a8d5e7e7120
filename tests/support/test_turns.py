"""Which tests take their turn."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Final

from tests.support.checkout import ROOT
from tests.support.turns import chosen_of

_FILES: Final[Mapping[str, str]] = {
    "test_alone": """
        import pytest

        @pytest.mark.by_turns(2)
        @pytest.mark.parametrize("variant", [1, 2, 3])
        def test_variant(variant):
            pass

        def test_always():
            pass

        rows = pytest.mark.parametrize("row", ["old", "new"])

        @pytest.mark.by_turns(2, of="rows")
        @rows
        def test_reads(row):
            pass

        @pytest.mark.by_turns(2, of="rows")
        @rows
        def test_writes(row):
            pass
    """,
    "test_first": """
        import pytest

        pytestmark = pytest.mark.by_turns(2, of="engines")

        def test_one_thing():
            pass

        LONG = [pytest.param(variant, marks=pytest.mark.torture) for variant in (2, 3)]

        @pytest.mark.parametrize("variant", [1, *LONG])
        @pytest.mark.by_turns(3)
        def test_another(variant):
            pass
    """,
    "test_second": """
        import pytest

        pytestmark = pytest.mark.by_turns(2, of="engines")

        def test_this():
            pass
    """,
}


def test_one_in_so_many_is_chosen_and_at_least_one() -> None:
    names = {f"test_{number}" for number in range(7)}
    assert [len(chosen_of(names, ("of these", share), "a commit")) for share in (1, 2, 3, 9)] == [
        *(7, 4, 3, 1)
    ]


def test_each_commit_chooses_and_all_have_their_turn() -> None:
    names = {"Hive", "Spark", "Trino"}
    chosen = [chosen_of(names, ("engines", 3), f"commit {number}") for number in range(50)]
    assert set().union(*chosen) == names
    assert chosen == [chosen_of(names, ("engines", 3), f"commit {number}") for number in range(50)]


def test_variants_and_modules_take_turns(tmp_path: Path) -> None:
    for name, text in _FILES.items():
        (tmp_path / f"{name}.py").write_text(dedent(text))
    everything, chosen = _collected(tmp_path), _collected(tmp_path, "--by-turns")
    of_first = {"test_first.py::test_one_thing", "test_first.py::test_another[1]"}
    assert len(everything) == 11
    assert chosen < everything
    assert "test_alone.py::test_always" in chosen
    assert len([name for name in chosen if "test_variant" in name]) == 2
    of_rows = [name.partition("[")[2] for name in chosen if "reads" in name or "writes" in name]
    assert of_rows in (["old]"] * 2, ["new]"] * 2)
    of_engines = {name for name in chosen if "test_alone" not in name}
    assert of_engines in ({"test_second.py::test_this"}, of_first)


def _collected(folder: Path, *options: str) -> set[str]:
    plugins = ["-p", "no:cacheprovider", "-p", "tests.support.turns"]
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", "-m", "not torture"]
    done = subprocess.run(
        [*command, *plugins, f"--rootdir={folder}", *options, "."],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": ""},
        capture_output=True,
        text=True,
        check=True,
    )
    return {line for line in done.stdout.splitlines() if "::" in line}
