"""The forms in which the feed of changes leaves Metatide: JSON of our own, and CloudEvents."""

import re
from enum import StrEnum
from typing import Annotated, Any, Final, Literal

import msgspec

from connectors.feed.event_feed import FeedEvent, FeedPosition
from connectors.feed.topic_records import utc_text
from hive.errors import InputError
from hive.names import DatabaseName, TableName
from hive.thrift.binary import decode
from hive.thrift.splice import without_mark
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import DATABASE, FUNCTION, PARTITION, TABLE
from hive.thrift.types import Struct
from state.records.actions import subject_of
from state.records.objects import (
    CONSTRAINTS,
    ColumnStatisticsImage,
    ConstraintImage,
    DatabaseImage,
    FunctionImage,
    PartitionImage,
    TableImage,
)

_STRUCTS: Final[dict[type, Struct]] = {
    TableImage: TABLE,
    PartitionImage: PARTITION,
    ColumnStatisticsImage: COLUMN_STATISTICS_OBJ,
    FunctionImage: FUNCTION,
    DatabaseImage: DATABASE,
}
_OF_THE_FOLD: Final = frozenset(("before", "columns_hash", "sides", "fields"))
"""Fields that mean nothing to others."""


_POSITION: Final = "^([0-9]{1,19}):([0-9]{1,19})(?:-([0-9]{1,19}))?$"
_Position = Annotated[str, msgspec.Meta(pattern=_POSITION)]


class FeedFormat(StrEnum):
    JSON = "json"
    CLOUDEVENTS = "cloudevents"


class FeedLine(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event of the metastore, and all that it did."""

    position: _Position
    """The epoch and the id of the event; for a gap, the first and the last id of those that may be
    missing. It is unique, and where the feed goes on."""
    event: str
    """The type of the event in the metastore's log; GAP where the topic lacks events."""
    time: str
    """When its first record was written to the topic, in UTC."""
    actions: list[dict[str, Any]]
    """What it did: a `type`, the names, and objects with the field names of Hive's Thrift."""
    after: str | None = None
    """For a gap, the position of the last event before it."""


class CloudEvent(msgspec.Struct, frozen=True):
    """A line of the feed in the JSON form of CloudEvents 1.0."""

    id: _Position
    source: str
    """The topic, by its id."""
    type: str
    time: str
    data: FeedLine
    subject: str | msgspec.UnsetType = msgspec.UNSET
    """The table or database, if there is only one."""
    specversion: Literal["1.0"] = "1.0"
    datacontenttype: Literal["application/json"] = "application/json"


_encode = msgspec.json.Encoder().encode


def as_json(event: FeedEvent) -> bytes:
    return _encode(_line(event))


def as_cloud_event(event: FeedEvent, topic_id: str) -> bytes:
    line = _line(event)
    subjects = {str(name) for action in event.actions if (name := subject_of(action)) is not None}
    return _encode(
        CloudEvent(
            id=line.position,
            source=f"urn:metatide:topic:{topic_id}",
            type=f"metatide.{line.event.lower()}",
            time=line.time,
            data=line,
            subject=subjects.pop() if len(subjects) == 1 else msgspec.UNSET,
        )
    )


def parse_position(text: str) -> FeedPosition:
    """The position of a line, which may be a gap's."""
    if (parts := re.fullmatch(_POSITION, text)) is None:
        raise InputError(
            f"bad position {text!r}: give that of a line, EPOCH:EVENT or, for a gap, "
            "EPOCH:EVENT-EVENT"
        )
    epoch, first, last = parts.groups()
    return FeedPosition(int(epoch), int(last or first), is_event=last is None)


def _line(event: FeedEvent) -> FeedLine:
    epoch, event_id = event.place
    return FeedLine(
        f"{epoch}:{event_id}" if event.after is None else f"{epoch}:{event.after + 1}-{event_id}",
        event.type,
        utc_text(event.written_ms),
        [_plain(action) for action in event.actions],
        None if event.after is None else f"{epoch}:{event.after}",
    )


def _plain(value: Any) -> Any:
    """Converts structs to JSON with the names of their fields, and objects to their fields."""
    if isinstance(value, TableName | DatabaseName):
        return str(value)
    if isinstance(value, ConstraintImage):
        _, struct = CONSTRAINTS[value.kind]
        columns = [decode(struct, column) for column in value.columns]
        return {
            "type": "Constraint",
            "kind": value.kind.name,
            "name": value.name,
            "columns": columns,
        }
    if isinstance(value, msgspec.Struct):
        fields = {
            name: _plain(getattr(value, name))
            for name in value.__struct_fields__
            if name not in _OF_THE_FOLD
        }
        if (form := _STRUCTS.get(type(value))) is not None:
            # Empty bytes: the event doesn't tell what was stored.
            data = without_mark(fields["data"])
            fields["data"] = decode(form, data) if data else None
        return {"type": type(value).__name__.removesuffix("Image"), **fields}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
