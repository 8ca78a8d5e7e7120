"""One row of NOTIFICATION_LOG, from its table or from an exported line."""

import msgspec

from hive.errors import InputError


class NotificationRow(msgspec.Struct, frozen=True):
    """A row of NOTIFICATION_LOG."""

    event_id: int
    event_time: int
    event_type: str
    cat_name: str | None
    db_name: str | None
    tbl_name: str | None
    message: str
    message_format: str | None


class _Columns(msgspec.Struct, rename="upper"):
    event_id: int
    event_time: int
    event_type: str
    message: str | None = None
    cat_name: str | None = None
    db_name: str | None = None
    tbl_name: str | None = None
    message_format: str | None = None


def row_from_json(line: str | bytes) -> NotificationRow:
    """The row in a line of an exported log: a JSON object of its columns."""
    try:
        return _row(_COLUMNS.decode(line))
    except msgspec.DecodeError as error:
        raise InputError(f"not a row of NOTIFICATION_LOG: {error}") from None


_COLUMNS = msgspec.json.Decoder(_Columns)


def _row(columns: _Columns) -> NotificationRow:
    return NotificationRow(
        columns.event_id,
        columns.event_time,
        columns.event_type,
        columns.cat_name,
        columns.db_name,
        columns.tbl_name,
        columns.message or "",
        columns.message_format,
    )
