"""A connector that loads what it is asked for."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa

from connectors.connector import Connector
from connectors.loads.loader import Loader
from connectors.log.sql_source import SqlSource
from state.topic import Topic


@contextmanager
def connecting(engine: sa.Engine, events: Topic) -> Iterator[Loader]:
    """It runs in a thread, and ends with the block."""
    loader = Loader(engine, events)
    connector = Connector(
        SqlSource(engine),
        events,
        on_epoch=loader.begin_epoch,
        requested_epoch=lambda: loader.requested_epoch,
    )
    thread = threading.Thread(target=connector.run)
    thread.start()
    try:
        yield loader
    finally:
        connector.stop()
        thread.join()
        loader.stop()
        engine.dispose()
