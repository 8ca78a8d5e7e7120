"""Partitions whose descriptors are encoded once for all have the bytes of those encoded alone."""

from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from hive.events.event_types import PartitionImage
from hive.events.parsed_objects import load_partition
from hive.events.partition_images import listed_image, partition_data, partition_image
from hive.events.stored_objects import listed_partition
from hive.thrift.splice import lacks_serde_details, without_mark
from hive.thrift.structs import PARTITION
from hive.thrift.tjson import dumps, loads, transcode_value
from hive.thrift.view import PartitionView
from tests.hive.thrift.objects import values

LOCATIONS = st.lists(st.none() | st.text("/aü", max_size=5), min_size=2, max_size=3)


@given(values(PARTITION), values(PARTITION), LOCATIONS)
@example({}, {"writeId": -(2**63)}, [None])
def test_a_shared_descriptor_changes_nothing(
    partition: dict[str, Any], other: dict[str, Any], locations: list[str | None]
) -> None:
    for location in locations:
        for fields in (partition, other):
            descriptor = {"cols": [], **fields.get("sd", {}), "location": location}
            check({"parameters": {}, **fields, "values": ["v"], "sd": descriptor})


@given(values(PARTITION))
def test_a_partition_may_lack_a_descriptor(partition: dict[str, Any]) -> None:
    check({**partition, "values": ["v"], "sd": None})


def check(partition: dict[str, Any]) -> None:
    text = dumps(PARTITION, partition)
    value = load_partition(text)
    listed, has_details = listed_partition(loads(text))
    alone = transcode_value(PARTITION, listed)
    data = partition_data(value)
    assert without_mark(data) == alone
    assert lacks_serde_details(data) == has_details
    view = PartitionView(alone)
    assert partition_image(value) == PartitionImage(("v",), data, view.write_id, view.columns)
    assert listed_image(value) == PartitionImage(("v",), alone, view.write_id, view.columns)
