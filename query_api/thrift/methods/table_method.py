"""The common part of all reads of one table."""

from abc import abstractmethod
from typing import ClassVar

import msgspec

from query_api.objects import Objects, is_remote
from query_api.reads.read import Group, TableRead
from query_api.targets import Target, TargetKind, of_database
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.outcome import Outcome, Payload, Raised


class TableMethod(TableRead[Outcome], frozen=True, kw_only=True):
    """A read of a table in the metastore's own database.

    A missing table is reported only if its database isn't a remote one, whose tables are in another
    system. To find out, the read is repeated with the database among its targets.
    """

    needs: ClassVar[tuple[TargetKind, ...]] = ()
    """The kinds of targets that it reads beside the table itself."""
    missing: Payload | Raised | RelayReason
    """The outcome if the table doesn't exist."""
    with_database: bool = False

    @property
    def targets(self) -> tuple[Target, ...]:
        targets = Target(TargetKind.TABLE, self.table), *self.needed
        if self.with_database:
            return (
                *targets,
                of_database(TargetKind.DATABASE, Target(TargetKind.TABLE, self.table).db),
            )
        return targets

    @property
    def needed(self) -> tuple[Target, ...]:
        """The targets of this table that `needs` names."""
        return tuple(Target(kind, self.table) for kind in self.needs)

    def answer(self, objects: Objects) -> Outcome:
        table = objects.table(self.table)
        if table is not None:
            return self.of(table, objects)
        if not self.with_database:
            return msgspec.structs.replace(self, with_database=True)
        database = objects.database(Target(TargetKind.TABLE, self.table).db)
        if database is not None and is_remote(database):
            return RelayReason.FORM
        return self.missing

    @abstractmethod
    def of(self, table: bytes, objects: Objects) -> Outcome:
        """The answer from an existing table."""


class TableAlone(TableMethod, frozen=True, kw_only=True):
    """A read of nothing but the table itself."""

    @property
    def group(self) -> Group | None:
        return None if self.with_database else Group(TargetKind.TABLE, self.table)


class StatisticsOnRequest(TableMethod, frozen=True, kw_only=True):
    """A read that returns column statistics with each object, if the caller wants them."""

    engine: str | None = None
    """The engine whose statistics are returned."""

    @property
    def targets(self) -> tuple[Target, ...]:
        targets = super().targets
        return (
            targets
            if self.engine is None
            else (*targets, Target(TargetKind.STATISTICS, self.table))
        )
