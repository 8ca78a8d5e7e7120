"""The row that every commit of a metastore locks, and a session that can hold its lock."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final

import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from hive.schema import Version, metadata

PATIENCE_S: Final = 60.0
_POLL_S: Final = 0.004
_WAITING: Final = {
    "postgresql": "SELECT count(*) FROM pg_stat_activity"
    " WHERE datname = current_database() AND wait_event_type = 'Lock'",
    "mysql": "SELECT count(*) FROM information_schema.innodb_trx t"
    " JOIN information_schema.processlist p ON p.id = t.trx_mysql_thread_id"
    " WHERE t.trx_state = 'LOCK WAIT' AND p.db = database()",
}


class Sequence:
    """NOTIFICATION_SEQUENCE."""

    def __init__(self, url: str) -> None:
        self._engine = unpooled_engine(url)
        self._row = metadata(Version.V4_1).tables["NOTIFICATION_SEQUENCE"].c.NEXT_EVENT_ID
        self._waiting = sa.text(_WAITING[self._engine.dialect.name])

    def current(self) -> int:
        """The id of the last event."""
        with self._engine.connect() as connection:
            return int(connection.scalar(sa.select(self._row)) or 1) - 1

    @contextmanager
    def held(self) -> Iterator[None]:
        """Holds the row's lock, so that nobody commits an event."""
        with self._engine.connect() as connection, connection.begin():
            connection.execute(sa.select(self._row).with_for_update())
            yield

    def until_waiting(self, working: Callable[[], int]) -> None:
        """Waits until all writers at work wait for a lock, or are done."""
        deadline = time.monotonic() + PATIENCE_S
        while working() > self._waiters():
            assert time.monotonic() < deadline, "a writer neither ends nor waits for a lock"
            time.sleep(_POLL_S)

    def close(self) -> None:
        self._engine.dispose()

    def _waiters(self) -> int:
        with self._engine.connect() as connection:
            return int(connection.scalar(self._waiting) or 0)
