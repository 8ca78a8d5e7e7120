"""Reads the end of the notification log, without messages."""

from sqlalchemy import select

from hive.events.row import NotificationRow
from hive.reader.snapshot import DatabaseSnapshot


def read_recent_events(snapshot: DatabaseSnapshot, count: int) -> list[NotificationRow]:
    """The newest rows, newest first; their messages are empty."""
    c = snapshot.tables["NOTIFICATION_LOG"].c
    columns = c.EVENT_ID, c.EVENT_TIME, c.EVENT_TYPE, c.CAT_NAME, c.DB_NAME, c.TBL_NAME
    newest = select(*columns).order_by(c.EVENT_ID.desc()).limit(count)
    return [
        NotificationRow(event, time, kind, catalog, db, table, "", None)
        for event, time, kind, catalog, db, table in snapshot.rows(newest)
    ]
