"""Writers whose transactions overlap: all run their SQL before they commit one after the other."""

import time
from collections.abc import Callable
from threading import Thread

import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from hive.schema import metadata
from hive.schema.version import Version
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.metastore import Instances

Write = Callable[[HmsClient], object]
_WAIT_S = 30.0
_POLL_S = 0.02
_WAITING = sa.text("SELECT count(DISTINCT pid) FROM pg_locks WHERE NOT granted")


def overlap(metastore: Instances, *writes: Write) -> list[Exception | None]:
    """Starts each write once the previous ones only wait for the id of their event; then all
    commit, in this order. Returns the exception of each write, if any.
    """
    failures: list[Exception | None] = [None] * len(writes)

    def run(number: int, write: Write) -> None:
        try:
            with metastore.connect() as client:
                write(client)
        except Exception as error:
            failures[number] = error

    sequence = metadata(Version.V4_1).tables["NOTIFICATION_SEQUENCE"].c.NEXT_EVENT_ID
    engine = unpooled_engine(metastore.database_url)
    threads = [Thread(target=run, args=item) for item in enumerate(writes)]
    with engine.connect() as locking, engine.connect() as watch:
        locking.execute(sa.select(sequence).with_for_update())
        for number, thread in enumerate(threads, 1):
            thread.start()
            _until_waiting(watch, number, threads)
        locking.rollback()
        for thread in threads:
            thread.join(_WAIT_S)
            assert not thread.is_alive(), "a write of a test hangs"
    engine.dispose()
    return failures


def _until_waiting(watch: sa.Connection, count: int, threads: list[Thread]) -> None:
    """Waits until so many writes wait for the sequence; those that have failed don't count."""
    deadline = time.monotonic() + _WAIT_S
    while time.monotonic() < deadline:
        [waiting] = watch.execute(_WAITING).one()
        watch.rollback()
        if waiting >= min(count, sum(thread.is_alive() for thread in threads[:count])):
            return
        time.sleep(_POLL_S)
    raise AssertionError(f"{count} writes don't wait for the sequence of events")
