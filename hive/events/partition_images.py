"""Makes images of the partitions in an event's parsed TJSON.

What many partitions share of a descriptor is encoded once.
"""

from functools import lru_cache
from typing import Final, NamedTuple

from hive.events import stored_objects
from hive.events.event_types import PartitionImage
from hive.events.object_fields import (
    PARTITION_STORAGE,
    Value,
    given_write_id,
    partition_write_id,
)
from hive.thrift.json_writers import around_location
from hive.thrift.shared_descriptor import DescriptorShape, SharedDescriptor
from hive.thrift.splice import lacking_serde_details
from hive.thrift.structs import PARTITION, STORAGE_DESCRIPTOR
from hive.thrift.tjson import transcode_value
from hive.thrift.view import PartitionView, View
from hive.thrift.wire import PACK_I32

_COLUMNS, _SORT_COLUMNS = "1", "9"
_SHAPES_MAX: Final = 1_000


class _Descriptor(NamedTuple):
    """An encoded descriptor without its location."""

    before: bytes
    after: bytes
    columns: bytes | None
    has_serde_details: bool


class _Encoded(NamedTuple):
    """A partition as it is listed."""

    data: bytes
    columns: bytes | None
    has_serde_details: bool

    def marked(self) -> bytes:
        """Its bytes, which show whether it has more than a list tells."""
        return lacking_serde_details(self.data) if self.has_serde_details else self.data


def partition_image(value: Value) -> PartitionImage:
    """The image of a partition as it is stored."""
    encoded = _encoded(value)
    return _image(value, encoded.marked(), encoded.columns)


def listed_image(value: Value) -> PartitionImage:
    """The image of a partition whose details of the serde were sent, but not stored."""
    encoded = _encoded(value)
    return _image(value, encoded.data, encoded.columns)


def _image(value: Value, data: bytes, columns: bytes | None) -> PartitionImage:
    return PartitionImage(
        values_of(value), data, given_write_id(partition_write_id(value)), columns
    )


def partition_data(value: Value) -> bytes:
    return _encoded(value).marked()


def has_stored_names(partition: Value) -> bool:
    """Whether its columns and sort columns are named in lower case: the metastore stores other
    names as they are where it alters several partitions at once, and in lower case elsewhere."""
    descriptor = partition[PARTITION_STORAGE]["rec"] if PARTITION_STORAGE in partition else {}
    if isinstance(descriptor, SharedDescriptor):
        return _shape_has_stored_names(descriptor.shape)
    return _has_stored_names(descriptor)


def values_of(partition: Value) -> tuple[str, ...]:
    return tuple(map(str, partition["1"]["lst"][2:]))


def _encoded(partition: Value) -> _Encoded:
    descriptor = partition[PARTITION_STORAGE]["rec"] if PARTITION_STORAGE in partition else None
    if isinstance(descriptor, SharedDescriptor):
        shared = _shared(descriptor.shape)
        location = descriptor.location.encode()
        size = PACK_I32.pack(len(location))
        encoded = b"".join((shared.before, size, location, shared.after))
        data = transcode_value(PARTITION, {**partition, PARTITION_STORAGE: {"rec": encoded}})
        return _Encoded(data, shared.columns, shared.has_serde_details)
    listed, has_details = stored_objects.listed_partition(partition)
    data = transcode_value(PARTITION, listed)
    return _Encoded(data, PartitionView(data).columns, has_details)


@lru_cache(maxsize=_SHAPES_MAX)
def _shared(shape: DescriptorShape) -> _Descriptor:
    value = {PARTITION_STORAGE: {"rec": shape.fields}}
    listed, has_details = stored_objects.listed_partition(value)
    before, after = around_location(STORAGE_DESCRIPTOR, listed[PARTITION_STORAGE]["rec"])
    columns = View(before + PACK_I32.pack(0) + after).raw(1)
    return _Descriptor(before, after, columns, has_details)


@lru_cache(maxsize=_SHAPES_MAX)
def _shape_has_stored_names(shape: DescriptorShape) -> bool:
    return _has_stored_names(shape.fields)


def _has_stored_names(descriptor: Value) -> bool:
    named = (
        item["1"]["str"]
        for field in (_COLUMNS, _SORT_COLUMNS)
        if field in descriptor
        for item in descriptor[field]["lst"][2:]
        if "1" in item
    )
    return all(name == name.strip().lower() for name in named)
