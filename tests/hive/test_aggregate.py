from decimal import Decimal
from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.aggregate import Aggregate, aggregate

counts = st.integers(0, 10**6)


def column(kind: str, name: str = "c", **fields: object) -> dict[str, Any]:
    return {"colName": name, "colType": "t", "statsData": {kind: fields}}


def decimal(text: str) -> dict[str, object]:
    sign, digits, exponent = Decimal(text).as_tuple()
    assert isinstance(exponent, int)
    number = int("".join(map(str, digits))) * (-1 if sign else 1)
    size = number.bit_length() // 8 + 1
    return {"unscaled": number.to_bytes(size, signed=True), "scale": -exponent}


@given(st.lists(st.tuples(st.integers(), st.integers(), counts), min_size=1))
def test_ranges_widen_and_nulls_add_up(parts: list[tuple[int, int, int]]) -> None:
    columns = [
        column("longStats", lowValue=low, highValue=high, numNulls=nulls, numDVs=1)
        for low, high, nulls in parts
    ]
    aggregated = aggregate(columns, len(parts))
    assert aggregated.statistics == column(
        "longStats",
        numNulls=sum(nulls for _, _, nulls in parts),
        lowValue=min(low for low, _, _ in parts),
        highValue=max(high for _, high, _ in parts),
    )
    assert aggregated.missing == ("numDVs",)


@given(st.lists(st.tuples(counts, counts, counts), min_size=1))
def test_booleans_are_told_in_full(parts: list[tuple[int, int, int]]) -> None:
    columns = [
        column("booleanStats", numTrues=trues, numFalses=falses, numNulls=nulls)
        for trues, falses, nulls in parts
    ]
    trues, falses, nulls = (sum(each) for each in zip(*parts, strict=True))
    whole = column("booleanStats", numNulls=nulls, numTrues=trues, numFalses=falses)
    assert aggregate(columns, len(parts)) == Aggregate(whole, ())


@given(st.lists(st.decimals(-1000, 1000, places=3), min_size=1))
def test_decimals_are_compared_by_value(values: list[Decimal]) -> None:
    columns = [
        column("decimalStats", lowValue=decimal(str(value)), highValue=decimal(f"{value}0"))
        for value in values
    ]
    aggregated = aggregate(columns, len(values))
    assert aggregated.statistics is not None
    merged = aggregated.statistics["statsData"]["decimalStats"]
    assert merged["lowValue"] == decimal(str(min(values)))
    assert merged["highValue"] == decimal(f"{max(values)}0")


@pytest.mark.parametrize("order", [1, -1])
def test_a_field_that_is_nan_in_a_partition_is_missing(order: int) -> None:
    doubles = [
        column("doubleStats", lowValue=nan, highValue=2.0, numNulls=1),
        column("doubleStats", lowValue=1.0, highValue=inf, numNulls=2),
    ]
    whole = column("doubleStats", highValue=inf, numNulls=3)
    assert aggregate(doubles[::order], 2) == Aggregate(whole, ("lowValue",))


def test_lengths_are_the_greatest_and_a_range_may_be_missing_in_a_partition_of_nulls() -> None:
    strings = [
        column("stringStats", maxColLen=9, avgColLen=4.5, numNulls=1, bitVectors=b"x"),
        column("stringStats", maxColLen=5, avgColLen=5.0, numNulls=0),
    ]
    whole = column("stringStats", numNulls=1, maxColLen=9, avgColLen=5.0)
    assert aggregate(strings, 2) == Aggregate(whole, ("bitVectors",))
    dates = [
        column("dateStats", numNulls=3),
        column("dateStats", numNulls=0, lowValue={"daysSinceEpoch": 4}),
    ]
    whole = column("dateStats", numNulls=3, lowValue={"daysSinceEpoch": 4})
    assert aggregate(dates, 2) == Aggregate(whole, ())


def test_what_the_metastore_would_extrapolate_is_not_told() -> None:
    one = column("longStats", numNulls=1)
    assert aggregate([one], 2).statistics is None
    assert aggregate([], 0).statistics is None
    assert aggregate([one, column("stringStats", numNulls=1)], 2).statistics is None
    assert aggregate([one, {**one, "colType": "int"}], 2).statistics is None
