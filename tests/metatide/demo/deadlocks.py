"""A write of the workload that the database ends for a deadlock."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

from sqlalchemy import Table, insert, select, text, update

from metatide.demo.changes import Update
from metatide.demo.store import Store

# InnoDB ends the transaction that changed fewer rows.
_HEAVY = 200


def check_that_it_is_begun_anew(store: Store) -> None:
    """Also when its transaction began before, with rows whose ids are told already."""
    names = store.metadata.tables["SEQUENCE_TABLE"]
    with store.engine.begin() as connection:
        connection.execute(insert(names), [_row("first", 0), _row("second", 0)])
    session = store.session()
    locked, pool = threading.Event(), ThreadPoolExecutor(2)
    try:
        rival = pool.submit(_rival, store, names, locked)
        assert locked.wait(30)
        [txn_id] = session.open_transactions(1, 1_800_000_000_000)
        rows = [_row("first", 1), _row("second", 1)]
        session.write([Update("SEQUENCE_TABLE", ("SEQUENCE_NAME",), rows)], [])
        rival.result(90)
    finally:
        session.close()
        pool.shutdown()
    txns = store.metadata.tables["TXNS"]
    opened = select(txns.c.TXN_ID).where(txns.c.TXN_STATE == "o")
    with store.engine.connect() as connection:
        assert list(connection.scalars(opened)) == [txn_id]
        ours = select(names.c.NEXT_VAL).where(names.c.SEQUENCE_NAME.in_(["first", "second"]))
        assert list(connection.scalars(ours)) == [1, 1]


def _rival(store: Store, names: Table, locked: threading.Event) -> None:
    """Holds the second row and, once a session holds the first and waits, asks for that."""
    first, second = (names.c.SEQUENCE_NAME == name for name in ("first", "second"))
    free = select(names).where(first).with_for_update(skip_locked=True)
    with store.engine.begin() as connection, store.engine.connect() as prober:
        if store.engine.dialect.name == "postgresql":
            # It ends the one who looks first.
            connection.execute(text("SET LOCAL deadlock_timeout = '60s'"))
        connection.execute(insert(names), [_row(f"heavy{n}", 0) for n in range(_HEAVY)])
        connection.execute(update(names).where(second).values(NEXT_VAL=7))
        locked.set()
        deadline = time.monotonic() + 30
        while prober.execute(free).all():
            prober.rollback()
            assert time.monotonic() < deadline
        prober.rollback()
        connection.execute(update(names).where(first).values(NEXT_VAL=7))


def _row(name: str, value: int) -> dict[str, object]:
    return {"SEQUENCE_NAME": name, "NEXT_VAL": value}
