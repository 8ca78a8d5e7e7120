"""What an answer is made of, as far as it must be known whether the cache may tell it."""

from enum import StrEnum

import msgspec

from hive.names import TableName
from state.records.objects import ConstraintKind, DatabaseName


class TargetKind(StrEnum):
    """Which objects of a table, a database or a catalog."""

    TABLE = "table"
    PARTITION = "partition"
    PARTITIONS = "partitions"
    STATISTICS = "statistics"
    CONSTRAINTS = "constraints"
    NAMES = "names"
    """The names of a database's tables; that one isn't among them, too."""
    FUNCTIONS = "functions"
    DATABASE = "database"
    DATABASES = "databases"
    DATABASE_DETAILS = "database_details"
    """What of databases an alter may change unsaid."""


OF_TABLE = frozenset(
    (
        TargetKind.TABLE,
        TargetKind.PARTITION,
        TargetKind.PARTITIONS,
        TargetKind.STATISTICS,
        TargetKind.CONSTRAINTS,
    )
)


class Target(msgspec.Struct, frozen=True):
    """Objects that one shard knows, or doesn't, as one. Unused parts of the name are empty."""

    kind: TargetKind
    name: TableName
    values: tuple[str, ...] = ()
    """Of a single partition."""
    constraints: ConstraintKind | None = None
    """Of one kind alone; None for all."""

    @property
    def is_of_table(self) -> bool:
        return self.kind in OF_TABLE

    @property
    def db(self) -> DatabaseName:
        return DatabaseName(self.name.catalog, self.name.db)


def of_database(kind: TargetKind, db: DatabaseName) -> Target:
    """Objects of a database."""
    return Target(kind, TableName(db.catalog, db.db, ""))


def of_catalog(kind: TargetKind, catalog: str) -> Target:
    """Objects of a catalog."""
    return Target(kind, TableName(catalog, "", ""))
