from state.records.numbers import NATURAL_MAX, supersedes


def test_the_greatest_version_replaces_itself_and_no_other_does() -> None:
    assert supersedes(2, 1)
    assert not supersedes(1, 1)
    assert not supersedes(1, 2)
    assert supersedes(NATURAL_MAX, NATURAL_MAX)
    assert not supersedes(NATURAL_MAX - 1, NATURAL_MAX)
