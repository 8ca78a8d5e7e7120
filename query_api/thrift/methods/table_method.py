"""What all reads of one table have in common."""

from abc import abstractmethod
from typing import ClassVar

import msgspec

from query_api.objects import Objects
from query_api.reads.read import TableRead
from query_api.targets import Target, TargetKind, of_database
from query_api.thrift.call import Unable
from query_api.thrift.methods.outcome import Outcome, Payload, Raised
from query_api.thrift.methods.table_facts import is_remote


class TableMethod(TableRead[Outcome], frozen=True, kw_only=True):
    """A read of a table that the metastore itself holds.

    That there is no such table is told only of a database whose tables aren't another system's:
    then the same is asked again, with the database.
    """

    needs: ClassVar[tuple[TargetKind, ...]] = ()
    """What it reads beside the table itself."""
    missing: Payload | Raised | Unable
    """What becomes of it where there is no such table."""
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
        """What `needs` names of this table."""
        return tuple(Target(kind, self.table) for kind in self.needs)

    def answer(self, objects: Objects) -> Outcome:
        table = objects.table(self.table)
        if table is not None:
            return self.of(table, objects)
        if not self.with_database:
            return msgspec.structs.replace(self, with_database=True)
        database = objects.database(Target(TargetKind.TABLE, self.table).db)
        if database is not None and is_remote(database):
            return Unable.FORM
        return self.missing

    @abstractmethod
    def of(self, table: bytes, objects: Objects) -> Outcome:
        """The answer from a table that is there."""
