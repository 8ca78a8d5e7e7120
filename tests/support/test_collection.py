"""The order in which files of tests run."""

from tests.support.collection import take_turns


def test_files_of_both_kinds_take_turns() -> None:
    waiting, computing = ["w1", "w2"], ["c1", "c2", "c3", "c4", "c5", "c6"]
    assert [*take_turns(waiting, computing)] == ["c1", "w1", "c2", "c3", "c4", "w2", "c5", "c6"]


def test_none_of_a_kind_leaves_the_others_as_they_are() -> None:
    assert [*take_turns([], ["c1", "c2"])] == ["c1", "c2"]
