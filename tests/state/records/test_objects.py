from typing import Any

import pytest

from hive.thrift.binary import encode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from state.records.objects import INCOMPLETE_FIELDS, statistics_fields

LONG_STATISTICS = 1 << 16 + 2


@pytest.mark.parametrize(
    ("fields", "bits"),
    [
        ({"colType": "int"}, INCOMPLETE_FIELDS),
        ({"colType": "int", "statsData": {}}, INCOMPLETE_FIELDS),
        ({"colType": "array<int>"}, 1 << 30),
        ({}, 1 << 30),
        ({"statsData": {"longStats": {"numNulls": 1, "numDVs": 2}}}, LONG_STATISTICS | 0b11000),
        (
            {"statsData": {"longStats": {"lowValue": 0, "numNulls": 1, "numDVs": 2}}},
            LONG_STATISTICS | 0b11010,
        ),
    ],
)
def test_the_fields_of_statistics_are_bits(fields: dict[str, Any], bits: int) -> None:
    assert statistics_fields(encode(COLUMN_STATISTICS_OBJ, {"colName": "a", **fields})) == bits


def test_a_field_of_a_later_release_has_no_bit() -> None:
    figures = {"statsData": {"longStats": {"numNulls": 1, "numDVs": 2}}}
    data = encode(COLUMN_STATISTICS_OBJ, {"colName": "a", **figures})
    assert data.endswith(b"\0\0\0")
    later = data[:-3] + b"\x08\0\x10" + b"\0\0\0\1" + b"\0\0\0"
    assert statistics_fields(later) == statistics_fields(data)
