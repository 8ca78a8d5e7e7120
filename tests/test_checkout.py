"""That nothing which runs leaves folders where it was started."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
STARTING_FAUST = ("processors", "metatide", "tests", "benchmarks")


def test_every_faust_app_is_told_where_its_folder_is() -> None:
    """Untold, Faust makes one named after the app; scripts within texts count too."""
    apps = {
        path.relative_to(ROOT).as_posix(): (text.count("App("), text.count("datadir="))
        for package in STARTING_FAUST
        for path in (ROOT / package).rglob("*.py")
        if re.search(r"\bfaust\b", text := path.read_text())
    }
    assert apps["processors/consumer/group.py"] == (1, 1)
    assert [name for name, (started, told) in apps.items() if started > told] == []
