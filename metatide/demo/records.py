"""Rows of NOTIFICATION_LOG, encoded before the row lock is taken."""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from hive.events.envelope import GZIP, PLAIN
from hive.events.message_types import Message
from metatide.demo.messages import seal


class Notification(NamedTuple):
    """One event: the names in its row, and its message."""

    type: str
    catalog: str | None
    database: str | None
    table: str | None
    message: Message


class Record(NamedTuple):
    """A row of the log without its event id."""

    NL_ID: int
    EVENT_TIME: int
    EVENT_TYPE: str
    CAT_NAME: str | None
    DB_NAME: str | None
    TBL_NAME: str | None
    MESSAGE: str
    MESSAGE_FORMAT: str


def encode(
    notifications: Sequence[Notification],
    log_ids: Sequence[int],
    now: int,
    rng: Random,
    zipped_share: float,
) -> list[Record]:
    """The rows of these events. Some are compressed and some not, as during a reconfiguration."""
    formats = [GZIP if rng.random() < zipped_share else PLAIN for _ in notifications]
    return [
        Record(log_id, now, type_, catalog, database, table, seal(message, now, format_), format_)
        for log_id, (type_, catalog, database, table, message), format_ in zip(
            log_ids, notifications, formats, strict=True
        )
    ]
