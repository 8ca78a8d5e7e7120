"""Checks that the notification log has no gaps."""

import time

from sqlalchemy import func, select

from hive.listener import KEEP_EVENTS
from hive.schema import detect, metadata
from metatide.doctor.database import snapshot
from metatide.doctor.finding import Finding, failed, ok
from metatide.doctor.target import Target

ROWS_MAX = 1_000_000
"""The number of newest events that are examined."""
_RELOAD = "the tables that they touched have to be loaded again; a longer retention prevents it: "


def complete(target: Target) -> Finding:
    with snapshot(target) as connection:
        version = detect(connection)
        assert version is not None
        tables = metadata(version).tables
        log, sequence = tables["NOTIFICATION_LOG"].c, tables["NOTIFICATION_SEQUENCE"].c
        next_ids = connection.scalars(select(sequence.NEXT_EVENT_ID)).all()
        if len(next_ids) != 1:
            return failed(
                f"NOTIFICATION_SEQUENCE has {len(next_ids)} rows instead of one",
                "stop the metastores and keep the row with the highest NEXT_EVENT_ID",
            )
        current = next_ids[0] - 1
        oldest, newest, rows, distinct = connection.execute(
            select(
                func.min(log.EVENT_ID),
                func.max(log.EVENT_ID),
                func.count(),
                func.count(log.EVENT_ID.distinct()),
            ).where(log.EVENT_ID > current - ROWS_MAX)
        ).one()
        if rows == 0:
            return ok(f"empty, at event {current}")
        written_s = connection.scalar(select(log.EVENT_TIME).where(log.EVENT_ID == oldest))
    assert written_s is not None
    if newest != current:
        return failed(
            f"the newest row is event {newest}, but NOTIFICATION_SEQUENCE says {current}",
            "was the database restored in parts? Restore both tables from one backup",
        )
    if distinct != rows:
        return failed(
            f"{rows - distinct} event ids occur twice",
            "let the unique index NOTIFICATION_LOG_EVENT_ID be made by Hive's schematool",
        )
    missing = newest - oldest + 1 - rows
    if missing:
        return failed(
            f"{missing} of the events {oldest} to {newest} are missing", _RELOAD + KEEP_EVENTS
        )
    age = _duration(max(0, int(time.time()) - written_s))
    return ok(f"events {oldest} to {newest} without a gap, the oldest {age} old")


def _duration(seconds: int) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= 2 * size:
            return f"{seconds // size} {unit}"
    return f"{seconds} s"
