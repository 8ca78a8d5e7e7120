"""Reads that only the database can answer."""

from collections.abc import Sequence
from typing import Generic, NamedTuple, TypeVar

from hive.events.row import NotificationRow
from hive.names import TableName
from hive.write_ids.lists import WriteIdList
from hive.write_ids.text import parse_txn_list
from query_api.database.objects import DatabaseObjects
from query_api.objects import Objects
from query_api.reads.read import Read
from query_api.targets import Target

A = TypeVar("A")


class DatabaseRead(Read[A], Generic[A], frozen=True):
    """A read that only the database answers."""

    @property
    def targets(self) -> tuple[Target, ...]:
        return ()


class Snapshots(NamedTuple):
    """The write-id lists and table ids that a reader passes on with its reads, as of one moment."""

    txns: WriteIdList
    tables: Sequence["TableSnapshot"]


class TableSnapshot(NamedTuple):
    """One table in a reader's snapshot."""

    name: TableName
    id: int | None
    """None if there is no such table."""
    write_ids: WriteIdList


class GetWriteIds(DatabaseRead[Snapshots], frozen=True):
    """The write-id lists and ids of tables, for a list of transactions or for the current one."""

    tables: tuple[TableName, ...]
    txns: str | None = None
    """A ValidTxnList; None for a reader that begins now."""

    def answer(self, objects: Objects) -> Snapshots:
        assert isinstance(objects, DatabaseObjects)
        txns = objects.txns() if self.txns is None else parse_txn_list(self.txns)
        ids = objects.table_ids(self.tables)
        lists = objects.valid_write_ids(self.tables, txns)
        tables = [TableSnapshot(name, ids.get(name), lists[name]) for name in self.tables]
        return Snapshots(txns, tables)


class CurrentEvent(DatabaseRead[int], frozen=True):
    """The id of the last event."""

    def answer(self, objects: Objects) -> int:
        assert isinstance(objects, DatabaseObjects)
        return objects.event


class ListEvents(DatabaseRead[list[NotificationRow]], frozen=True):
    """The last rows of the notification log, newest first, without their messages."""

    count: int

    def answer(self, objects: Objects) -> list[NotificationRow]:
        assert isinstance(objects, DatabaseObjects)
        return objects.recent_events(self.count)


class ListCatalogs(DatabaseRead[list[str]], frozen=True):
    """The names of all catalogs. Events don't name them all, so the cache can't tell."""

    def answer(self, objects: Objects) -> list[str]:
        assert isinstance(objects, DatabaseObjects)
        return objects.catalogs()
