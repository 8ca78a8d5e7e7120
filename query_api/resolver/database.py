"""The interface to the metastore's database, as resolver and servers use it."""

from typing import Protocol, TypeVar

from query_api.database_answer import DatabaseAnswer
from query_api.latest.log_end import LogEnd
from query_api.latest.log_history import LogHistory
from query_api.positions import Position
from query_api.reads.read import Read

A = TypeVar("A")


class Database(Protocol):
    """The metastore's database, which answers misses and tells what is current."""

    @property
    def history(self) -> LogHistory: ...

    async def answer(self, read: Read[A], /) -> DatabaseAnswer[A]: ...

    async def after_now(self, reached: Position, /) -> LogEnd | None: ...
