"""Filters of partitions: reading them, and testing 100,000 partitions.

Beside each figure is the raw baseline: the least work in Python that could find such partitions.
"""

import json
from collections.abc import Callable
from itertools import product
from statistics import median
from time import perf_counter

from hive.filters.partition_filter import by_filter
from hive.filters.semantics import PartitionKey

KEYS = [
    PartitionKey("ds", "string"),
    PartitionKey("region", "string"),
    PartitionKey("day", "date"),
    PartitionKey("hour", "int"),
]
DAYS = [f"2024-{month:02}-{day:02}" for month in range(1, 13) for day in range(1, 29)]
PARTITIONS = [
    (day, region, day, str(hour))
    for day, region, hour in product(
        DAYS, ("eu", "us", "a_b", "ap:1", *map(str, range(9))), range(24)
    )
][:100_000]
REPEATS = 5

TESTS = [
    "ds = '2024-03-05'",
    "ds >= '2024-03-05'",
    "ds >= '2024-03-05' and hour = 5",
    "(ds) in ('2024-03-05', '2024-03-06', '2024-03-07')",
    "ds like '2024-03%'",
    "ds like '%03%5'",
    "hour > 5",
    "day = 2024-03-05",
    "day >= 2024-03-05 and hour between 3 and 5 and region = 'eu'",
    "region != 'us'",
    "region != 'a_b'",
    " or ".join(f"(ds = '{day}' and hour = {len(day)})" for day in DAYS),
]


def seconds(work: Callable[[], object]) -> float:
    times = []
    for _ in range(REPEATS):
        start = perf_counter()
        work()
        times.append(perf_counter() - start)
    return median(times)


def short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:57]}…"


def test_partitions() -> None:
    raw = seconds(lambda: [values for values in PARTITIONS if values[0] == "2024-03-05"])
    for text in TESTS:
        matches = by_filter(text, KEYS).matches
        matching = sum(map(matches, PARTITIONS))
        taken = seconds(lambda: list(filter(matches, PARTITIONS)))  # noqa: B023
        report(
            f"test: {short(text)}",
            round(taken / len(PARTITIONS) * 1e9),
            "ns/partition",
            found=matching,
            one_comparison_ns=round(raw / len(PARTITIONS) * 1e9),
        )


def find_within_bounds() -> None:
    """Finds 1,000 of 100,000 partitions by a filter that bounds the range of keys."""
    text = "(ds) in ('2024-03-05', '2024-03-06', '2024-03-07', '2024-03-08') and hour > 0"

    def find() -> int:
        spans, matches = by_filter(text, KEYS)
        first_values = {span.prefix[0] for span in spans}
        # The dictionary stands in for the store, which would seek.
        return sum(matches(values) for day in first_values for values in by_day[day])

    by_day: dict[str, list[tuple[str, ...]]] = {}
    for values in PARTITIONS:
        by_day.setdefault(values[0], []).append(values)
    raw = seconds(lambda: [values for values in PARTITIONS if values[0] in by_day])
    report(
        "read, compile and find within bounds",
        round(seconds(find) * 1e3, 2),
        "ms",
        found=find(),
        whole_scan_ms=round(raw * 1e3, 2),
    )


def read() -> None:
    for name, text in {
        "one comparison": "ds = '2024-03-05'",
        "three": "ds >= '2024-03-05' and hour between 3 and 5 and region = 'eu'",
        "IN of 1,000": f"(ds) in ({', '.join(repr(str(n)) for n in range(1_000))})",
        "IN of 10,000": f"(hour) in ({', '.join(str(n) for n in range(10_000))})",
        "1,000 pairs": " or ".join(f"(ds = '{n}' and hour = {n})" for n in range(1_000)),
    }.items():
        report(
            f"read and compile: {name}",
            round(seconds(lambda: by_filter(text, KEYS)) * 1e6),  # noqa: B023
            "us",
            split_us=round(seconds(lambda: text.split()) * 1e6, 1),  # noqa: B023
        )


def report(name: str, value: float, unit: str, **beside: float) -> None:
    print(json.dumps({"name": name, "value": value, "unit": unit, **beside}), flush=True)


def main() -> None:
    read()
    test_partitions()
    find_within_bounds()


if __name__ == "__main__":
    main()
