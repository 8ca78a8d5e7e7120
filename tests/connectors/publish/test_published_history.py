"""What a poll tells of the log it saw."""

from connectors.log.source import Poll
from connectors.publish.published_history import PublishedEvent, check, check_all, check_missing

KNOWN = PublishedEvent(100, b"hash")


def test_the_same_row_is_the_same_history() -> None:
    assert check(Poll(100, b"hash", []), KNOWN) is None
    assert check(Poll(250, b"hash", []), KNOWN) is None


def test_another_row_is_another_history() -> None:
    other = check(Poll(250, b"else", []), KNOWN)
    assert other is not None
    assert "event 100 differs from the one" in other.why


def test_ids_that_went_back_are_another_history() -> None:
    other = check(Poll(99, None, []), KNOWN)
    assert other is not None
    assert "the last event is 99, but 100 was published" in other.why
    assert check(Poll(99, None, []), PublishedEvent(100, None)) is not None


def test_a_load_that_has_seen_a_later_event_was_read_in_another_history() -> None:
    other = check(Poll(150, b"hash", []), KNOWN, reached=151)
    assert other is not None
    assert "had come to 151 before" in other.why
    assert check(Poll(151, b"hash", []), KNOWN, reached=151) is None


def test_each_row_that_was_published_tells_of_another_history() -> None:
    published = [KNOWN, PublishedEvent(90, b"older"), PublishedEvent(95, b"cleaned")]
    assert check_all({100: b"hash", 90: b"older", 101: b"new"}, published) is None
    other = check_all({100: b"hash", 90: b"else"}, published)
    assert other is not None
    assert "event 90 differs" in other.why


def test_a_row_that_was_cleaned_is_no_other_history() -> None:
    assert check(Poll(100, None, []), KNOWN) is None
    assert check_missing(None, KNOWN) is None


def test_a_row_that_is_missing_among_older_ones_is_another_history() -> None:
    other = check_missing(7, KNOWN)
    assert other is not None
    assert "missing while older ones are there, as 7" in other.why


def test_a_position_without_a_row_is_compared_by_the_sequence_alone() -> None:
    assert check(Poll(5, b"row", []), PublishedEvent(5, None)) is None
