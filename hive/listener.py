"""The metastore's listener that writes the notification log, and how it must be configured.

A metastore calls its transactional listeners within the database transaction of a change, and its
other listeners after that. Only from a transactional listener have events dense ids that become
visible in their order, together with their changes. From another one events may come late or never,
so nobody can tell which event is the last: `latest` doesn't hold.

Only a transactional listener is told of transactions, but for some types (below). Another one
without an OPEN_TXN event therefore proves that the listener isn't transactional.
"""

from typing import Final

LISTENER: Final = "org.apache.hive.hcatalog.listener.DbNotificationListener"
TRANSACTIONAL: Final = "metastore.transactional.event.listeners"
"""The setting that must end with the listener: what follows it can still fail the transaction."""
AFTERWARDS: Final = "metastore.event.listeners"
"""The setting that must not name the listener: its events would be written twice."""
RETENTION: Final = "metastore.event.db.listener.timetolive"

MAKE_TRANSACTIONAL: Final = (
    f"end {TRANSACTIONAL} with {LISTENER}, take it out of {AFTERWARDS}, and restart the metastores"
)
KEEP_EVENTS: Final = f"set {RETENTION} of the metastore to 7d"

UNLOGGED_TRANSACTION_TYPES: Final = (1, 2)
"""Values of TXNS.TXN_TYPE: transactions of replication and read-only ones write no events."""
