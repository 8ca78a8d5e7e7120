"""What the database proves of the metastore's listener."""

import time
from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from hive.schema import Version, create, metadata
from query_api.database import bounded_engine
from query_api.database.listener import CLOCKS_S_MAX, has_unlogged_transactions

NOW_S = int(time.time())
OLD_S = NOW_S - 10 * CLOCKS_S_MAX


@pytest.fixture(scope="module")
def engine(new_database: Callable[[], str]) -> Iterator[sa.Engine]:
    engine = bounded_engine(new_database(), connections=1, statement_timeout_ms=10_000)
    create(engine, Version.V4_1)
    yield engine
    engine.dispose()


@pytest.mark.parametrize(
    ("opened_s", "kind", "unlogged"),
    [(None, 0, True), (OLD_S, 0, True), (NOW_S, 0, False), (None, 2, False)],
    ids=["no event", "an older event", "its event", "one that has no event"],
)
def test_a_transaction_without_an_event_of_its_time(
    engine: sa.Engine, opened_s: int | None, kind: int, unlogged: bool
) -> None:
    tables = metadata(Version.V4_1).tables
    events = [(1, OLD_S, "CREATE_TABLE")]
    if opened_s is not None:
        events.append((2, opened_s, "OPEN_TXN"))
    with engine.connect() as connection:
        log, txns = tables["NOTIFICATION_LOG"], tables["TXNS"]
        for event, time_s, what in events:
            row = {"NL_ID": event, "EVENT_ID": event, "EVENT_TIME": time_s, "EVENT_TYPE": what}
            connection.execute(log.insert().values(row))
        began = {"TXN_STARTED": NOW_S * 1000, "TXN_LAST_HEARTBEAT": NOW_S * 1000}
        named = {"TXN_STATE": "o", "TXN_USER": "u", "TXN_HOST": "h", "TXN_TYPE": kind}
        connection.execute(txns.insert().values(TXN_ID=9, **began, **named))
        assert has_unlogged_transactions(connection, Version.V4_1) is unlogged
        connection.rollback()
