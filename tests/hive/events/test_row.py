"""Marks of rows."""

import msgspec
import pytest

from hive.events.row import NotificationRow, row_mark

ROW = NotificationRow(7, 1_767_225_600, "INSERT", "hive", "sales", "orders", "{}", "gzip")


def test_the_marks_of_older_releases_stay_valid() -> None:
    assert row_mark(ROW) == 1_330_255_884


@pytest.mark.parametrize(
    ("field", "value"),
    [("event_time", 1), ("event_type", "RELOAD"), ("db_name", None), ("tbl_name", "\ud800")],
)
def test_rows_of_other_histories_have_other_marks(field: str, value: object) -> None:
    assert row_mark(msgspec.structs.replace(ROW, **{field: value})) != row_mark(ROW)


def test_a_message_that_was_not_read_has_no_part_in_a_mark() -> None:
    assert row_mark(msgspec.structs.replace(ROW, message="")) == row_mark(ROW)
