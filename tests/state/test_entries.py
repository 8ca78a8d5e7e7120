import pytest

from state import entries
from state.entries import Mark


@pytest.mark.parametrize("mark", [Mark.LIVE, Mark.ORDERED])
def test_an_object_that_exists_is_live(mark: Mark) -> None:
    value = entries.encode(3, b"data", mark=mark)
    assert entries.live(value) == value


def test_what_is_missing_or_deleted_is_not_live() -> None:
    assert entries.live(None) is None
    assert entries.live(entries.tombstone(3)) is None
