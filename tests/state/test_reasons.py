"""Whoever sees a reason finds it explained."""

import re
from pathlib import Path

from state.loads import Cold, Doubt

PAGE = Path(__file__).parents[2] / "docs" / "state.md"


def test_every_reason_is_explained_and_no_other() -> None:
    explained = set(re.findall(r"^\| `([a-z_]+)` \| .* \| .* \|$", PAGE.read_text(), re.MULTILINE))
    reasons = {str(reason) for reason in (*Cold, *Doubt) if reason}
    assert explained == reasons
