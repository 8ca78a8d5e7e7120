"""A table that the first event creates."""

from hive.names import TableName
from state.records import Change, Scope, ScopeKind
from state.records.actions import CreateTable
from state.records.objects import TableImage

TABLE = TableName("hive", "db", "t")
IMAGE = TableImage(TABLE, 1, 0, managed=False, partitioned=True, data=b"table")
CREATED = Change(0, 0, 1, (CreateTable(IMAGE),))
SCOPE = Scope(ScopeKind.TABLE, TABLE)
