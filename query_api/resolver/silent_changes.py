"""Objects that change without an event in the log.

| object | what changes without an event |
|---|---|
| function | alter_function writes nothing |
| database | alter_database writes nothing unless it changes the owner or parameters |
| remote database | drop_database writes nothing |
| `hive.default` | the first metastore that starts creates it without an event |
| materialized view | its sources, and when it was made from them |
| whatever replication writes | the ids that replication keeps in parameters |
| table | key-values that commit_txn writes into its parameters |
| constraint | it is dropped with one of the same name on another table, or with that table |
| foreign key | it also disappears with the primary key of its parent, and comes back with it |
"""

import re
from functools import lru_cache
from typing import Final

from hive.names import DEFAULT_CATALOG, DatabaseName
from hive.thrift.structs import TABLE
from hive.thrift.view import TableView, View
from query_api.objects import is_remote
from query_api.remembered import remembered

FIRST_DATABASE: Final = DatabaseName(DEFAULT_CATALOG, "default")
"""Nobody can drop it, so where it is missing, no metastore had started yet."""
_REPLICATION_ID = "repl.last.id"
# commit_txn sets only keys that begin with `_meta`; a text is preceded by its length.
_COMMITTED = re.compile(rb"\0\0.._meta", re.DOTALL)
_DATABASE_PARAMETERS = 4
_TABLE_PARAMETERS = next(field.id for field in TABLE.fields if field.name == "parameters")


@remembered(4096)
def table_is_silent(data: bytes) -> bool:
    """Whether the table itself may have changed without an event."""
    view = TableView(data)
    parameters = view.raw(_TABLE_PARAMETERS) or b""
    return (
        view.table_type == "MATERIALIZED_VIEW"
        or is_replicated(data)
        or _COMMITTED.search(parameters) is not None
    )


@remembered(4096)
def is_replicated(data: bytes) -> bool:
    """Whether replication keeps ids in the parameters of this table and its partitions."""
    return TableView(data).parameter(_REPLICATION_ID) is not None


@lru_cache(maxsize=4096)
def database_is_silent(data: bytes) -> bool:
    """Whether the database itself may have changed without an event."""
    is_replica = View(data).in_map(_DATABASE_PARAMETERS, _REPLICATION_ID) is not None
    return is_replica or is_remote(data)
