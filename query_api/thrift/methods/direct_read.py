"""Reads of the database, of what no event tells."""

from abc import abstractmethod

from hive.reader.snapshot import DatabaseSnapshot
from query_api.database import DatabaseObjects
from query_api.database.reads import DatabaseRead
from query_api.objects import Objects
from query_api.reads.read import Read
from query_api.thrift.methods.outcome import Items, Outcome, structs


class DirectRead(DatabaseRead[Outcome], frozen=True):
    """A read of the database, which begins after the call arrived.

    Equal reads that wait for the database at the same time are one read.
    """

    def answer(self, objects: Objects) -> Outcome:
        assert isinstance(objects, DatabaseObjects)
        return self.of(objects.snapshot)

    @abstractmethod
    def of(self, snapshot: DatabaseSnapshot) -> Outcome:
        """The answer from one moment of the database."""


class Whole(DatabaseRead[Outcome], frozen=True):
    """A read whose answer is complete when it ends, as long as the database can be read."""

    read: Read[Outcome]

    def answer(self, objects: Objects) -> Outcome:
        value = self.read.answer(objects)
        return structs(list(value.structs)) if isinstance(value, Items) else value
