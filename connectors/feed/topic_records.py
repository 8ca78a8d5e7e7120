"""Shows the records of a topic to people and programs."""

from base64 import b64encode
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import msgspec
import structlog

from connectors.publish import headers
from connectors.publish.headers import RecordHeaders
from hive.errors import RecordFormatError
from hive.names import TableName
from state.records import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    LoadRows,
    Reread,
    ResetTable,
    decode,
)
from state.records.actions import RenameTable, subject_of
from state.records.routing import table_shard
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader

_WAIT_S = 0.2
_SHOWN_MAX = 5

log = structlog.get_logger()


class TopicRecord(NamedTuple):
    """A record and its place in the topic."""

    shard: int
    offset: int
    head: RecordHeaders
    record: AnyRecord


def follow(
    topic: Topic, *, from_event: int = 0, table: TableName | None = None, ever: bool = False
) -> Iterator[TopicRecord]:
    """The records of the topic, each shard's in order; with a table, those that touch it."""
    shards = range(topic.shards) if table is None else [table_shard(table, topic.shards)]
    for message in _messages(topic, shards, ever):
        head = headers.read(message.headers())
        if head is None or message.value() is None or head.upto < from_event:
            continue
        record = record_in(message)
        if record is not None and (table is None or touches(record, table)):
            yield TopicRecord(message.partition(), message.offset(), head, record)


def record_in(message: Any) -> AnyRecord | None:
    """The record in a message; None if it can't be read, which the log then says."""
    try:
        return decode(message.value() or b"")
    except RecordFormatError as error:
        where = {"shard": message.partition(), "offset": message.offset()}
        log.warning("a record can't be read", **where, why=str(error))
        return None


def utc_text(moment_ms: int) -> str:
    """A moment, in UTC."""
    return datetime.fromtimestamp(moment_ms / 1000, UTC).isoformat(timespec="milliseconds")


def dead_letters(topic: Topic, *, from_event: int = 0, ever: bool = False) -> Iterator[bytes]:
    """The rows that were set aside, as JSON."""
    letters = msgspec.structs.replace(topic, name=topic.dead_letter, shards=1)
    for message in _messages(letters, [0], ever):
        event_id = dict(message.headers() or ()).get("event_id", b"0")
        if int(event_id) >= from_event:
            yield message.value()


def _messages(topic: Topic, shards: Sequence[int], ever: bool) -> Iterator[Any]:
    """The messages that the topic holds now; with `ever`, also those to come."""
    bounds = topic_bounds(topic)
    ends = {shard: bounds[shard].end for shard in shards}
    with PartitionsReader(topic) as reader:
        yield from reader.read({shard: bounds[shard].first for shard in shards}, ends)
        if ever:
            reader.begin(ends)
        while ever:
            yield from reader.arrived(_WAIT_S)


def touches(record: AnyRecord, table: TableName) -> bool:
    """Whether a record names this table; records that concern every table don't count."""
    if isinstance(record, LoadBegin | LoadRows | LoadEnd):
        return record.scope.name == table
    if isinstance(record, ResetTable | Reread):
        return record.table == table
    return isinstance(record, Change) and any(
        subject_of(action) == table or (isinstance(action, RenameTable) and action.old == table)
        for action in record.actions
    )


def as_line(shown: TopicRecord) -> str:
    """The record as a line of text."""
    head, record = shown.head, shown.record
    where = f"{shown.shard}:{shown.offset}"
    if not isinstance(record, Change):
        return f"{where:>10}  {_fields(record, _brief)}"
    interval = f"({record.after}, {record.upto}]"
    part = f" part {record.part + 1} of {record.parts}" if record.parts > 1 else ""
    said = "; ".join(_fields(action, _brief) for action in record.actions) or "progress"
    epoch = f" epoch {head.epoch}" if head.epoch else ""
    return f"{where:>10}{epoch}  {interval:<20} {head.event:<24}{part} {said}".rstrip()


def as_json(shown: TopicRecord) -> bytes:
    """The whole record as one line of JSON."""
    head = shown.head
    return msgspec.json.encode(
        {
            "shard": shown.shard,
            "offset": shown.offset,
            "kind": head.kind,
            "event": head.event,
            "hash": None if head.hash is None else head.hash.hex(),
            "record": _plain(shown.record),
        }
    )


def _fields(struct: msgspec.Struct, write: Any) -> str:
    fields = ((name, getattr(struct, name)) for name in struct.__struct_fields__)
    said = ", ".join(f"{name}={write(value)}" for name, value in fields if name != "epoch")
    return f"{type(struct).__name__}({said})"


def _brief(value: Any) -> str:
    if isinstance(value, TableName):
        return str(value)
    if isinstance(value, bytes):
        return f"{len(value)} bytes"
    if isinstance(value, msgspec.Struct):
        return _fields(value, _brief)
    if isinstance(value, tuple | list):
        shown = ", ".join(map(_brief, value[:_SHOWN_MAX]))
        more = f", … {len(value)} in all" if len(value) > _SHOWN_MAX else ""
        return f"[{shown}{more}]"
    if isinstance(value, dict):
        return f"{len(value)} entries"
    return str(value)


def _plain(value: Any) -> Any:
    """Converts structs to plain JSON: the compact arrays and tags mean nothing outside Metatide."""
    if isinstance(value, TableName):
        return str(value)
    if isinstance(value, bytes):
        return b64encode(value).decode()
    if isinstance(value, msgspec.Struct):
        fields = {name: _plain(getattr(value, name)) for name in value.__struct_fields__}
        return {"type": type(value).__name__, **fields}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value
