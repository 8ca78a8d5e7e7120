"""Targets: what an answer depends on, at the granularity at which the cache knows it."""

from enum import StrEnum

import msgspec

from hive.names import DatabaseName, TableName
from state.records.objects import ConstraintKind


class TargetKind(StrEnum):
    """The objects of a table, a database or a catalog that a target stands for."""

    TABLE = "table"
    PARTITION = "partition"
    PARTITIONS = "partitions"
    STATISTICS = "statistics"
    CONSTRAINTS = "constraints"
    NAMES = "names"
    """The names of a database's tables; it also tells that a table doesn't exist."""
    FUNCTIONS = "functions"
    DATABASE = "database"
    DATABASES = "databases"
    DATABASE_DETAILS = "database_details"
    """The fields of databases that ALTER may change without an event."""


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
    """Objects that a shard knows either all or not at all. Unused parts of the name are empty."""

    kind: TargetKind
    name: TableName
    values: tuple[str, ...] = ()
    """The values of a single partition."""
    constraints: ConstraintKind | None = None
    """Only constraints of this kind; None for all."""

    @property
    def is_of_table(self) -> bool:
        return self.kind in OF_TABLE

    @property
    def has_former_names(self) -> bool:
        """Whether a late event may touch it under the name that a table had before a rename."""
        return self.is_of_table or self.kind is TargetKind.NAMES

    @property
    def db(self) -> DatabaseName:
        return self.name.database


def of_database(kind: TargetKind, db: DatabaseName) -> Target:
    """A target of a database."""
    return Target(kind, db.table(""))


def of_catalog(kind: TargetKind, catalog: str) -> Target:
    """A target of a catalog."""
    return Target(kind, TableName(catalog, "", ""))
