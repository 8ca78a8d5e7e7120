"""Checks whether the metastore logs its events in the transactions that make the changes.

If a transaction began within the period that the log covers, and the log has no OPEN_TXN of about
that time, the listener isn't transactional (`hive.listener`).
"""

from typing import Final

import sqlalchemy as sa

from hive.reader import notification_log
from hive.schema import Version, metadata

EVENTS_MAX: Final = 100_000
"""The number of newest events that are examined."""
CLOCKS_S_MAX: Final = 300
"""The maximum difference between the clocks of the database and the metastores."""


def has_unlogged_transactions(connection: sa.Connection, version: Version) -> bool:
    """Whether the database proves that the listener isn't transactional."""
    tables = metadata(version)
    oldest_s, opened_s = connection.execute(notification_log.period(tables, EVENTS_MAX)).one()
    began_ms = connection.scalar(notification_log.last_logged_begin(tables))
    if oldest_s is None or began_ms is None:
        return False
    return bool(began_ms / 1000 > max(oldest_s, opened_s or 0) + CLOCKS_S_MAX)
