"""Checks whether the metastore logs its events in the transactions that make the changes.

Only a transactional listener is told of transactions. So if a transaction began within the period
that the log covers, and the log has no OPEN_TXN of about that time, the listener isn't
transactional.
"""

from typing import Final

import sqlalchemy as sa

from hive.schema import Version, metadata

EVENTS_MAX: Final = 100_000
"""The number of newest events that are examined."""
CLOCKS_S_MAX: Final = 300
"""The maximum difference between the clocks of the database and the metastores."""
_UNLOGGED_TYPES: Final = (1, 2)
"""Of TXNS.TXN_TYPE: transactions of replication and read-only ones, which write no events."""


def has_unlogged_transactions(connection: sa.Connection, version: Version) -> bool:
    """Whether the database proves that the listener isn't transactional."""
    tables = metadata(version).tables
    log, txns = tables["NOTIFICATION_LOG"].c, tables["TXNS"].c
    newest = sa.select(sa.func.max(log.EVENT_ID)).scalar_subquery()
    recent = log.EVENT_ID > newest - EVENTS_MAX
    oldest_s, opened_s = connection.execute(
        sa.select(
            sa.func.min(log.EVENT_TIME),
            sa.func.max(sa.case((log.EVENT_TYPE == "OPEN_TXN", log.EVENT_TIME))),
        ).where(recent)
    ).one()
    began_ms = connection.scalar(
        sa.select(sa.func.max(txns.TXN_STARTED)).where(txns.TXN_TYPE.not_in(_UNLOGGED_TYPES))
    )
    if oldest_s is None or began_ms is None:
        return False
    return bool(began_ms / 1000 > max(oldest_s, opened_s or 0) + CLOCKS_S_MAX)
