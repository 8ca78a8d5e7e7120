"""Shows a single record of a topic, even one that can't be read."""

from typing import Final

import msgspec

from connectors.feed.topic_records import utc_text
from hive.errors import InputError, RecordFormatError
from state.records import decode, type_of
from state.topic import Topic
from state.topic.client import topic_bounds
from state.topic.partitions import PartitionsReader

EXCERPT_BYTES_MAX: Final = 256
HEADERS_MAX: Final = 16


class ShownRecord(msgspec.Struct, frozen=True):
    """As much of a record as can be told."""

    shard: int
    offset: int
    written: str
    """When the broker received it, in UTC."""
    bytes: int
    type: str | None
    """Its type as far as its first bytes tell it."""
    reason: str | None
    """Why it can't be read, in a word; None if it can."""
    why: str | None
    headers: dict[str, str]
    excerpt: str
    """Its first bytes; those that aren't ASCII are escaped."""


def record_at(topic: Topic, shard: int, offset: int) -> ShownRecord:
    """The record at an offset of a shard."""
    topic.require_shard(shard)
    first, end = topic_bounds(topic)[shard]
    if not first <= offset < end:
        raise InputError(
            f"shard {shard} of {topic.name} has the offsets {first} up to {end}, but not {offset}"
        )
    with PartitionsReader(topic) as reader:
        for message in reader.read({shard: offset}, {shard: offset + 1}):
            _, written_ms = message.timestamp()
            return _shown(
                shard, offset, written_ms, message.headers() or [], message.value() or b""
            )
    raise InputError(f"shard {shard} of {topic.name} has no record at offset {offset}")


def _shown(
    shard: int,
    offset: int,
    written_ms: int,
    headers: list[tuple[str, str | bytes | None]],
    value: bytes,
) -> ShownRecord:
    reason = why = None
    try:
        decode(value)
    except RecordFormatError as error:
        reason, why = str(error.reason), str(error)
    return ShownRecord(
        shard,
        offset,
        utc_text(written_ms),
        len(value),
        type_of(value),
        reason,
        why,
        {name[:EXCERPT_BYTES_MAX]: _excerpt(text or b"") for name, text in headers[:HEADERS_MAX]},
        _excerpt(value),
    )


def _excerpt(data: bytes | str) -> str:
    data = data.encode() if isinstance(data, str) else data
    return data[:EXCERPT_BYTES_MAX].decode("ascii", "backslashreplace")
