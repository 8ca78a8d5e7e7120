"""The metastore's listener that writes the notification log, and how it must be configured.

A metastore calls its transactional listeners within the database transaction of a change, and its
other listeners after that. Only a transactional listener gives events dense ids that become visible
in order, together with their changes. Events of other listeners may come late or never, so nobody
can tell which event is the last, and `latest` can't be guaranteed.

Only a transactional listener is told of transactions, apart from those of
`UNLOGGED_TRANSACTION_TYPES`. So a transaction of another type without an OPEN_TXN event proves that
the listener isn't transactional.
"""

from typing import Final

LISTENER: Final = "org.apache.hive.hcatalog.listener.DbNotificationListener"
TRANSACTIONAL: Final = "metastore.transactional.event.listeners"
"""The setting that must end with the listener: one after it could still fail the transaction."""
AFTERWARDS: Final = "metastore.event.listeners"
"""The setting that must not name the listener: its events would be written twice."""
RETENTION: Final = "metastore.event.db.listener.timetolive"

MAKE_TRANSACTIONAL: Final = (
    f"end {TRANSACTIONAL} with {LISTENER}, take it out of {AFTERWARDS}, and restart the metastores"
)
KEEP_EVENTS: Final = f"set {RETENTION} of the metastore to 7d"

UNLOGGED_TRANSACTION_TYPES: Final = (1, 2)
"""Values of TXNS.TXN_TYPE: transactions of replication and read-only ones write no events."""
