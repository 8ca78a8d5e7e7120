"""Events as a database has stored them whose columns don't keep all that was sent."""

from typing import Final, NamedTuple

from hive.events.decimal_places import DecimalPlaces, as_stored
from hive.events.decode import decode
from hive.events.event_types import Event
from hive.events.kept_characters import Lacked
from hive.events.row import NotificationRow


class ColumnLimits(NamedTuple):
    """What the columns of a database don't keep."""

    places: DecimalPlaces
    """To what it rounds figures of column statistics."""
    lacked: Lacked | None
    """The characters for which it stores question marks; None if it keeps all."""


UNLIMITED: Final = ColumnLimits({}, None)


def decode_as_stored(row: NotificationRow, limits: ColumnLimits) -> Event:
    """The typed event of a row, with what the database has kept of it."""
    return as_stored(decode(row, lacked=limits.lacked), limits.places)
