"""The interface of all reads."""

from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, TypeVar

import msgspec

from hive.errors import NoSuchObjectError, RemoteDatabaseError
from hive.names import DatabaseName, TableName
from query_api.objects import Objects, is_remote
from query_api.targets import Target, TargetKind, of_database

A = TypeVar("A")
T = TypeVar("T")
SHORT_MAX = 100
"""Reads of more objects than this run in a thread, so that other reads needn't wait."""


class Group(NamedTuple):
    """Reads that depend on the same targets, but for single partitions: a table, and what is of
    this kind in it.
    """

    kind: TargetKind
    table: TableName


class Read(msgspec.Struct, Generic[A], frozen=True):
    """A question about objects. Equal reads have equal answers at the same moment."""

    @property
    @abstractmethod
    def targets(self) -> tuple[Target, ...]:
        """The targets that the answer depends on; all must be servable."""

    def further(self, objects: Objects) -> tuple[Target, ...]:
        """Targets that only the objects of the others reveal; they must be servable, too."""
        return ()

    @abstractmethod
    def answer(self, objects: Objects) -> A:
        """Answers from the objects; raises NoSuchObjectError if there is nothing to return."""

    @property
    def of_table(self) -> TableName | None:
        """The table that the read is about, if there is one."""
        return None

    @property
    def subjects(self) -> tuple[Target, ...]:
        """What the request is about, by which a deployment may choose its consistency."""
        return self.targets

    @property
    def group(self) -> Group | None:
        """The group that the read belongs to, if any."""
        return None

    @property
    def is_long(self) -> bool:
        """Whether the read may take so long that others should not wait for it."""
        return False

    @property
    def all_partitions_of(self) -> TableName | None:
        """The table whose partitions a long read goes through; if these are few, it isn't long."""
        return None


class TableRead(Read[A], Generic[A], frozen=True):
    """A question about one table."""

    table: TableName

    @property
    def of_table(self) -> TableName | None:
        return self.table


class ExistingTableRead(TableRead[A], Generic[A], frozen=True):
    """A question about a table that must exist. Where it is missing, its database tells whether its
    tables are in another system.
    """

    def further(self, objects: Objects) -> tuple[Target, ...]:
        if objects.table(self.table) is not None:
            return ()
        return (of_database(TargetKind.DATABASE, self.table.database),)


class Rendered(Read[bytes], Generic[A], frozen=True):
    """A read whose answer is encoded at once, in the thread that makes it."""

    read: Read[A]
    write: Callable[[A], bytes]

    @property
    def targets(self) -> tuple[Target, ...]:
        return self.read.targets

    def further(self, objects: Objects) -> tuple[Target, ...]:
        return self.read.further(objects)

    def answer(self, objects: Objects) -> bytes:
        return self.write(self.read.answer(objects))

    @property
    def group(self) -> Group | None:
        return self.read.group

    @property
    def is_long(self) -> bool:
        return self.read.is_long

    @property
    def all_partitions_of(self) -> TableName | None:
        return self.read.all_partitions_of


class Page(msgspec.Struct, frozen=True):
    """A part of an ordered list."""

    after: str = ""
    """The last name of the previous page."""
    limit: int | None = None


class Slice(NamedTuple, Generic[T]):
    """A page of an answer."""

    items: Iterable[T]
    next: str | None
    """The last name of this page; None if it is the last page."""


def cut(sorted_items: Sequence[T], name_of: Callable[[T], str], page: Page) -> Slice[T]:
    """A page of items that are sorted by their unique names."""
    start = bisect_right(sorted_items, page.after, key=name_of) if page.after else 0
    end = len(sorted_items) if page.limit is None else start + page.limit
    is_whole = start == 0 and end >= len(sorted_items)
    items = sorted_items if is_whole else sorted_items[start:end]
    return Slice(items, name_of(items[-1]) if items and end < len(sorted_items) else None)


def existing_table(objects: Objects, table: TableName) -> bytes:
    """The table's bytes; raises NoSuchObjectError if it doesn't exist, RemoteDatabaseError if it
    is in another system."""
    data = objects.table(table)
    if data is None:
        refuse_remote(objects, table.database)
        raise NoSuchObjectError(f"there is no table {table}")
    return data


def refuse_remote(objects: Objects, db: DatabaseName) -> None:
    """Raises RemoteDatabaseError if the tables of a database are in another system."""
    database = objects.database(db)
    if database is not None and is_remote(database):
        raise RemoteDatabaseError(str(db))
