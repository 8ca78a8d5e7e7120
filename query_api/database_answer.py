"""What the metastore's database answers to a read."""

from typing import Generic, NamedTuple, TypeVar

from hive.errors import NoSuchObjectError

A = TypeVar("A")


class DatabaseAnswer(NamedTuple, Generic[A]):
    """An answer and the last event that it reflects."""

    value: A | NoSuchObjectError
    event: int
