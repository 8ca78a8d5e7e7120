"""Gaps in the log, and rows that are only late."""

from connectors.log.gaps import CLEANED, OUT_OF_ORDER, GapWatch, LogGap, gap_after
from connectors.log.source import Bounds


def test_what_the_cleaner_took_is_a_gap_at_once() -> None:
    assert gap_after(5, Bounds(9, 9, 20), waited=False) == LogGap(6, 8, CLEANED)
    assert gap_after(5, Bounds(None, None, 20), waited=False) == LogGap(6, 20, CLEANED)


def test_rows_that_are_late_are_waited_for() -> None:
    assert gap_after(5, Bounds(1, 9, 20), waited=False) is None
    assert gap_after(5, Bounds(1, 9, 20), waited=True) == LogGap(6, 8, OUT_OF_ORDER)
    assert gap_after(5, Bounds(1, None, 20), waited=True) == LogGap(6, 20, OUT_OF_ORDER)


def test_a_row_that_came_meanwhile_leaves_no_gap() -> None:
    assert gap_after(5, Bounds(1, 6, 20), waited=True) is None
    assert gap_after(5, Bounds(1, None, 5), waited=True) is None


def test_patience_begins_again_once_the_position_has_moved_on() -> None:
    clock = [0.0]
    watch, late = GapWatch(1_000, lambda: clock[0]), Bounds(1, 9, 20)
    assert watch.look(late, 5) is None
    clock[0] = 0.5
    assert watch.look(late, 5) is None
    watch.passed()
    clock[0] = 2.0
    assert watch.look(late, 5) is None
    clock[0] = 3.0
    assert watch.look(late, 5) == LogGap(6, 8, OUT_OF_ORDER)
