"""Reads of tables and of their names."""

from typing import NamedTuple

from hive.errors import RemoteDatabaseError
from hive.names import DatabaseName, TableName
from hive.patterns import compile_request_pattern
from query_api.objects import Objects, is_remote
from query_api.reads.read import (
    SHORT_MAX,
    ExistingTableRead,
    Group,
    Page,
    Read,
    Slice,
    cut,
    existing_table,
    refuse_remote,
)
from query_api.targets import Target, TargetKind, of_catalog, of_database
from state.shard_reader import NameLine


class GetTable(ExistingTableRead[bytes], frozen=True):
    """One table."""

    @property
    def targets(self) -> tuple[Target, ...]:
        return (Target(TargetKind.TABLE, self.table),)

    @property
    def group(self) -> Group | None:
        return Group(TargetKind.TABLE, self.table)

    def answer(self, objects: Objects) -> bytes:
        return existing_table(objects, self.table)


class GetTables(Read[list[bytes]], frozen=True):
    """Several tables, in the order of their names; missing ones are left out."""

    names: tuple[TableName, ...]
    """Each once."""

    @property
    def targets(self) -> tuple[Target, ...]:
        return tuple(Target(TargetKind.TABLE, name) for name in self.names)

    @property
    def is_long(self) -> bool:
        return len(self.names) > SHORT_MAX

    def further(self, objects: Objects) -> tuple[Target, ...]:
        if len(objects.tables(self.names)) == len(self.names):
            return ()
        return tuple(of_database(TargetKind.DATABASE, db) for db in self._databases)

    @property
    def _databases(self) -> dict[DatabaseName, None]:
        return dict.fromkeys(name.database for name in self.names)

    def answer(self, objects: Objects) -> list[bytes]:
        tables = objects.tables(self.names)
        if len(tables) < len(self.names):
            for db in self._databases:
                refuse_remote(objects, db)
        return tables


class ListTables(Read[Slice[NameLine]], frozen=True):
    """The tables of a database, as lists show them. A list without any depends on the database,
    which tells whether its tables are in another system.
    """

    db: DatabaseName
    pattern: str = "*"
    types: tuple[str, ...] = ()
    """All types if empty."""
    page: Page = Page()

    @property
    def targets(self) -> tuple[Target, ...]:
        return (of_database(TargetKind.NAMES, self.db),)

    @property
    def is_long(self) -> bool:
        return True

    def further(self, objects: Objects) -> tuple[Target, ...]:
        if next(iter(objects.names(self.db)), None) is not None:
            return ()
        return (of_database(TargetKind.DATABASE, self.db),)

    def answer(self, objects: Objects) -> Slice[NameLine]:
        names = list(objects.names(self.db))
        if not names:
            refuse_remote(objects, self.db)
        matches = compile_request_pattern(self.pattern).fullmatch
        lines = [
            line
            for line in names
            if matches(line.table) and (not self.types or line.type in self.types)
        ]
        lines.sort(key=_name)
        return cut(lines, _name, self.page)


class TableLine(NamedTuple):
    """A table in a list over several databases."""

    db: str
    line: NameLine


class ListTablesOfAll(Read[Slice[TableLine]], frozen=True):
    """The tables of several databases of a catalog, as lists show them."""

    catalog: str
    databases: str = "*"
    pattern: str = "*"
    types: tuple[str, ...] = ()
    only: tuple[str, ...] | None = None
    """Limits the answer to these databases, if set."""
    page: Page = Page()

    @property
    def targets(self) -> tuple[Target, ...]:
        return (of_catalog(TargetKind.DATABASES, self.catalog),)

    @property
    def subjects(self) -> tuple[Target, ...]:
        return (of_catalog(TargetKind.NAMES, self.catalog),)

    @property
    def is_long(self) -> bool:
        return True

    def further(self, objects: Objects) -> tuple[Target, ...]:
        # A remote one is refused, whatever is known of its names.
        return tuple(
            of_database(TargetKind.NAMES, db) for db, remote in self._chosen(objects) if not remote
        )

    def _chosen(self, objects: Objects) -> list[tuple[DatabaseName, bool]]:
        """The requested databases that exist, each with whether it is a remote one."""
        matches = compile_request_pattern(self.databases).fullmatch
        return [
            (DatabaseName(self.catalog, name), is_remote(data))
            for name, data in objects.databases(self.catalog)
            if matches(name) and (self.only is None or name in self.only)
        ]

    def answer(self, objects: Objects) -> Slice[TableLine]:
        matches = compile_request_pattern(self.pattern).fullmatch
        databases = []
        for db, remote in self._chosen(objects):
            if remote:
                raise RemoteDatabaseError(str(db))
            databases.append(db.db)
        lines = [
            TableLine(db, line)
            for db, line in objects.names_of(self.catalog, databases)
            if matches(line.table) and (not self.types or line.type in self.types)
        ]
        lines.sort(key=in_database)
        return cut(lines, in_database, self.page)


def in_database(line: TableLine) -> str:
    """The name as `db.table`."""
    return f"{line.db}.{line.line.table}"


def _name(line: NameLine) -> str:
    return line.table
