"""Makes images of the partitions in an event's parsed TJSON.

A table's partitions share their descriptors but for the location, so these are encoded once. To
find an encoded descriptor takes a tenth of the time of encoding it.
"""

from typing import Any, Final, NamedTuple

import orjson

from hive.events import stored_objects
from hive.events.event_types import PartitionImage
from hive.thrift.json_writers import around_location
from hive.thrift.splice import lacking_serde_details
from hive.thrift.structs import PARTITION, STORAGE_DESCRIPTOR
from hive.thrift.tjson import transcode_value
from hive.thrift.view import PartitionView, View
from hive.thrift.wire import PACK_I32

_DESCRIPTOR, _LOCATION = "6", "2"
_DESCRIPTORS_MAX: Final = 1_000
_DESCRIPTOR_BYTES_MAX: Final = 16_384


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


_descriptors: dict[bytes, _Descriptor] = {}
"""Descriptors by their JSON without the location."""


def partition_image(value: stored_objects.Value, write_id: int) -> PartitionImage:
    """The image of a partition as it is stored, written under a write id."""
    encoded = _encoded(value)
    return PartitionImage(values_of(value), encoded.marked(), write_id, encoded.columns)


def listed_image(value: stored_objects.Value, write_id: int) -> PartitionImage:
    """The image of a partition whose details of the serde were sent, but not stored."""
    encoded = _encoded(value)
    return PartitionImage(values_of(value), encoded.data, write_id, encoded.columns)


def partition_data(value: stored_objects.Value) -> bytes:
    return _encoded(value).marked()


def values_of(partition: stored_objects.Value) -> tuple[str, ...]:
    return tuple(map(str, partition["1"]["lst"][2:]))


def _encoded(partition: stored_objects.Value) -> _Encoded:
    descriptor = _shared_descriptor(partition)
    if descriptor is None:
        listed, has_details = stored_objects.listed_partition(partition)
        data = transcode_value(PARTITION, listed)
        columns = PartitionView(data).columns
    else:
        location = partition[_DESCRIPTOR]["rec"][_LOCATION]["str"].encode()
        size = PACK_I32.pack(len(location))
        encoded = b"".join((descriptor.before, size, location, descriptor.after))
        data = transcode_value(PARTITION, {**partition, _DESCRIPTOR: {"rec": encoded}})
        columns, has_details = descriptor.columns, descriptor.has_serde_details
    return _Encoded(data, columns, has_details)


def _shared_descriptor(partition: stored_objects.Value) -> _Descriptor | None:
    """The partition's descriptor without its location; None if it can't be shared."""
    if _DESCRIPTOR not in partition:
        return None
    rest: dict[str, Any] = partition[_DESCRIPTOR]["rec"].copy()
    if rest.pop(_LOCATION, None) is None:
        return None
    try:
        key = orjson.dumps(rest)
    except orjson.JSONEncodeError:
        # The locations of skewed values have lists as keys.
        return None
    descriptor = _descriptors.get(key)
    if descriptor is None and len(key) <= _DESCRIPTOR_BYTES_MAX:
        descriptor = _described(rest)
        if len(_descriptors) >= _DESCRIPTORS_MAX:
            _descriptors.clear()
        _descriptors[key] = descriptor
    return descriptor


def _described(rest: dict[str, Any]) -> _Descriptor:
    listed, has_details = stored_objects.listed_partition({_DESCRIPTOR: {"rec": rest}})
    before, after = around_location(STORAGE_DESCRIPTOR, listed[_DESCRIPTOR]["rec"])
    columns = View(before + PACK_I32.pack(0) + after).raw(1)
    return _Descriptor(before, after, columns, has_details)
