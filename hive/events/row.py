"""One row of NOTIFICATION_LOG, from its table or from an exported line."""

from zlib import crc32

import msgspec

from hive.errors import UNDECODABLE, InputError


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


def row_mark(row: NotificationRow) -> int:
    """A number of 32 bits, never 0, that tells a row from others that had its id in another history
    of the database. The message has no part in it, so that to compare rows takes no long texts.

    Records and stores hold marks, so the text never changes.
    """
    text = f"{row.event_time} {row.event_type} {row.db_name} {row.tbl_name}"
    return crc32(text.encode("utf-8", "surrogatepass")) or 1


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
    except UNDECODABLE as error:
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
