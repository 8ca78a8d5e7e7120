"""Short runs of the workload, and what they left in the database."""

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Row, select

from hive.events.envelope import open_message
from hive.events.row import NotificationRow, row_from_json
from metatide.demo.bulk import fill
from metatide.demo.options import Limits, Release, Size
from metatide.demo.pace import Pace
from metatide.demo.store import Store
from metatide.demo.workload import Style, Workload

SMALL = Size(tables=24, partitions=120, column_layouts=6, skew=0.6)


@dataclass(frozen=True)
class Event:
    """A row of the log with its message opened."""

    id: int
    type: str
    catalog: str | None
    database: str | None
    table: str | None
    format: str
    message: dict[str, Any]


def ticking() -> Callable[[], float]:
    """A clock that moves on a little whenever it is read."""
    ticks = itertools.count()
    return lambda: 1_800_000_000 + next(ticks) / 100


def write(
    store: Store,
    events: int,
    *,
    writers: int = 1,
    seed: int = 7,
    release: Release = Release.HIVE_4_2,
    size: Size = SMALL,
) -> Workload:
    """A run of so many events after those that make the catalog."""
    style = Style(seed=seed, release=release, clock=ticking())
    workload = Workload(store.ids, store.session, store.schema, size, style)
    pace = Pace(Limits(events=events))
    workload.prepare(pace)
    pace.begin(workload.events)
    workload.run(writers, pace)
    return workload


def filled_store(url: str, size: Size) -> Store:
    """A store with objects that no event tells of."""
    store = Store(url)
    for _ in fill(Workload(store.ids, store.session, store.schema, size, Style())):
        pass
    return store


def rows(store: Store) -> list[Row[Any]]:
    """The log as the database holds it."""
    log = store.metadata.tables["NOTIFICATION_LOG"]
    with store.engine.connect() as connection:
        return list(connection.execute(select(log).order_by(log.c.EVENT_ID)))


def notification_rows(store: Store) -> list[NotificationRow]:
    return [row_from_json(msgspec.json.encode(dict(row._mapping))) for row in rows(store)]


def log(store: Store) -> list[Event]:
    """The events of the log."""
    return [
        Event(
            row.EVENT_ID,
            row.EVENT_TYPE,
            row.CAT_NAME,
            row.DB_NAME,
            row.TBL_NAME,
            row.MESSAGE_FORMAT,
            msgspec.json.decode(open_message(row.MESSAGE, row.MESSAGE_FORMAT)),
        )
        for row in rows(store)
    ]
