"""The metastore's primary database: it answers reads and tells which event is current."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from typing import Final, TypeVar

from hive.collation import Collation
from hive.reader import notification_log
from hive.reader.collation import read_collation
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot
from hive.reader.tokens import stored_token
from hive.schema import Version, metadata, require_followed
from query_api.database.engine import bounded_engine
from query_api.database.fallback import Fallback
from query_api.database.listener import has_unlogged_transactions
from query_api.database_answer import DatabaseAnswer
from query_api.latest.log_end import LogEnd
from query_api.latest.log_history import LogHistory
from query_api.latest.missing_events import LogStart, log_start
from query_api.latest.sequence_reader import sequence_reader
from query_api.latest.shared_read import SharedRead
from query_api.positions import Position
from query_api.reads.read import Read

A = TypeVar("A")
CONNECTIONS: Final = 8
STATEMENT_TIMEOUT_MS: Final = 20_000


class Primary:
    """The primary database. Connections are opened when they are needed, so it may be down at the
    start.
    """

    def __init__(
        self,
        url: str,
        *,
        connections: int = CONNECTIONS,
        statement_timeout_ms: int = STATEMENT_TIMEOUT_MS,
    ) -> None:
        # One more connection each for the sequence, for audits and for the age of the cache.
        self._engine = bounded_engine(
            url, connections=connections + 3, statement_timeout_ms=statement_timeout_ms
        )
        self._version: Version | None = None
        self.history = LogHistory()
        self._sequence = sequence_reader(self._engine, self._detected)
        self.index = SharedRead(self._sequence.read, self.history)
        self.fallback = Fallback(self.snapshot, connections)

    async def answer(self, read: Read[A]) -> DatabaseAnswer[A]:
        return await self.fallback.answer(read)

    async def after_now(self, reached: Position) -> LogEnd | None:
        return await self.index.after_now(reached)

    async def close(self) -> None:
        await self.index.close()
        await self._sequence.close()
        self.fallback.close()
        self._engine.dispose()

    def require_release(self) -> None:
        """Raises InputError if the metastore is of an unsupported release."""
        self._detected()

    def has_unlogged_transactions(self) -> bool:
        """Whether the database proves that events aren't written in the transactions of their
        changes.
        """
        version = self._detected()
        with self._engine.connect() as connection:
            return has_unlogged_transactions(connection, version)

    def oldest_after(self, event: int) -> LogStart:
        """The part of the log after an event, as one statement sees it. Blocks."""
        statement = notification_log.oldest_after(metadata(self._detected()), event)
        with self._engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            return log_start(connection.execute(statement).all())

    def delegation_token(self, keys: Collection[str]) -> str | None:
        """What the metastores have stored of a delegation token, under one of its keys. Blocks."""
        statement = stored_token(self._detected(), keys)
        with self._engine.connect() as connection:
            text: str | None = connection.execute(statement).scalar()
        return text

    def collation(self) -> Collation:
        """The collation by which the database sorts the names of partitions. Blocks."""
        self._detected()
        with self._engine.connect() as connection:
            return read_collation(connection)

    @contextmanager
    def snapshot(self) -> Iterator[DatabaseSnapshot]:
        """One moment of the database, in a transaction of its own. Blocks."""
        with open_snapshot(self._engine, self._detected()) as snapshot:
            yield snapshot

    def _detected(self) -> Version:
        if self._version is None:
            with self._engine.connect() as connection:
                self._version = require_followed(connection)
        return self._version
