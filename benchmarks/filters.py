"""Filters of partitions: reading them, testing 100,000 partitions, finding 1 % of them in a store.

Beside each figure is the raw baseline: the least work in Python that could find such partitions, or
a plain scan of as many keys. `find` is a whole read of names, from the filter's text on, `cpu_ms`
its processor time, `first_ms` its time while nothing is remembered of the values, `second_ms` that
of the read that looks at them all, and `spans` the number of ranges that it seeks to.
"""

import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import date, timedelta
from itertools import product
from pathlib import Path
from statistics import median
from time import perf_counter, process_time
from typing import Final

from benchmarks.folding import fold
from benchmarks.report import report
from hive.filters.partition_filter import by_filter
from hive.filters.semantics import PartitionKey
from hive.names import TableName
from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION, TABLE
from metatide.process.garbage_collection import collect_seldom
from query_api.cached_objects import CachedObjects
from query_api.plain_tables import OwnReader, PlainTables
from query_api.reads import ListPartitionNames
from query_api.reads.partitions import PartitionSelection
from state import keys
from state.kv import after
from state.records import Change
from state.records.actions import AnyAction, CreateTable, PutPartitions
from state.records.objects import PartitionImage, TableImage
from state.store import Identity, MemoryBudget, Store
from state.store.families import SHARD_FAMILIES

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

FIRST_DAY: Final = date(2024, 1, 1)
STORED: Final = 100_000
CHUNK: Final = 1_000
TABLES: Final[dict[str, tuple[str, list[tuple[str, ...]]]]] = {
    "days": (
        "date",
        [
            ((FIRST_DAY + timedelta(number // CHUNK)).isoformat(), str(number % CHUNK))
            for number in range(STORED)
        ],
    ),
    "numbers": ("int", [(str(number), "0") for number in range(STORED)]),
    "texts": ("string", [(f"p{number:05}", "0") for number in range(STORED)]),
}
"""The type of the first key, and the values of the partitions, by table."""
PERCENT: Final = {
    "a range of dates": ("days", "k > '2024-02-14' and k < '2024-02-16'"),
    "dates, between": ("days", "k between 2024-02-15 and 2024-02-15"),
    "dates, in": ("days", "(k) in ('2024-02-15')"),
    "a range of numbers": ("numbers", "k >= 50000 and k < 51000"),
    "numbers, between": ("numbers", "k between 98500 and 99499"),
    "numbers, in": (
        "numbers",
        f"(k) in ({', '.join(str(number) for number in range(50_000, 51_000))})",
    ),
    "a range of texts": ("texts", "k >= 'p50000' and k < 'p51000'"),
    "texts, between": ("texts", "k between 'p50000' and 'p50999'"),
    "texts, in": (
        "texts",
        f"(k) in ({', '.join(repr(f'p{number:05}') for number in range(50_000, 51_000))})",
    ),
    "texts, like": ("texts", "k like 'p50%'"),
}


def once(work: Callable[[], object]) -> tuple[float, float]:
    """The seconds that it takes, and those of the processor."""
    start, cpu_start = perf_counter(), process_time()
    work()
    return perf_counter() - start, process_time() - cpu_start


def medians(work: Callable[[], object]) -> tuple[float, float]:
    times, cpu_times = zip(*(once(work) for _ in range(REPEATS)), strict=True)
    return median(times), median(cpu_times)


def seconds(work: Callable[[], object]) -> float:
    return medians(work)[0]


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
        wanted = by_filter(text, KEYS)
        first_values = {span.prefix[0] for span in wanted.spans}
        # The dictionary stands in for the store, which would seek.
        return sum(wanted.matches(values) for day in first_values for values in by_day[day])

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


def actions(table: TableName, id_: int) -> Iterator[AnyAction]:
    type_, partitions = TABLES[table.table]
    fields = {
        "tableName": table.table,
        "dbName": table.db,
        "partitionKeys": [{"name": "k", "type": type_}, {"name": "n", "type": "int"}],
        "parameters": {"EXTERNAL": "TRUE"},
        "tableType": "EXTERNAL_TABLE",
        "id": id_,
    }
    yield CreateTable(TableImage(table, id_, 0, False, True, encode(TABLE, fields)))
    for start in range(0, len(partitions), CHUNK):
        images = []
        for values in partitions[start : start + CHUNK]:
            partition = {"values": list(values), "dbName": table.db, "tableName": table.table}
            images.append(PartitionImage(values, 0, 1, encode(PARTITION, partition)))
        yield PutPartitions(table, 0, tuple(images), added=True)


@contextmanager
def stored() -> Iterator[Store]:
    identity = Identity(format_version=1, topic_id="benchmark", partitions=1, shard=0)
    budget = MemoryBudget(128 << 20)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "store"
        with Store(path, identity, families=SHARD_FAMILIES, budget=budget) as store:
            event = 0
            for id_, name in enumerate(TABLES, 1):
                for action in actions(TableName("hive", "d", name), id_):
                    event += 1
                    fold(store, Change(0, event - 1, event, (action,)))
            store.flush()
            yield store


def find_in_store(store: Store) -> None:
    view = store.snapshot()
    for name, (table_name, text) in PERCENT.items():
        reader = OwnReader(view, PlainTables(), store.commits, store.commits.count)
        objects = CachedObjects(lambda _: reader)  # noqa: B023
        table = TableName("hive", "d", table_name)
        type_, partitions = TABLES[table_name]
        read = ListPartitionNames(table, PartitionSelection(filter=text))
        start = keys.partition(table, partitions[len(partitions) // 2])
        end = after(keys.of_table(keys.PARTITION, table))
        wanted = by_filter(text, [PartitionKey("k", type_), PartitionKey("n", "int")])
        whole_read, whole_cpu = once(lambda: read.answer(objects))  # noqa: B023
        look, look_cpu = once(lambda: read.answer(objects))  # noqa: B023
        value, cpu = medians(lambda: read.answer(objects))  # noqa: B023
        raw, _ = medians(lambda: view.keys(start, end, STORED // 100))  # noqa: B023
        report(
            f"find 1 %: {name}",
            round(value * 1e3, 2),
            "ms",
            cpu_ms=round(cpu * 1e3, 2),
            first_ms=round(whole_read * 1e3, 2),
            first_cpu_ms=round(whole_cpu * 1e3, 2),
            second_ms=round(look * 1e3, 2),
            second_cpu_ms=round(look_cpu * 1e3, 2),
            found=len(list(read.answer(objects).items)),
            spans=len(wanted.plain_spans),
            raw_scan_ms=round(raw * 1e3, 2),
        )
        whole = keys.of_table(keys.PARTITION, table)
    value, cpu = medians(lambda: view.keys(whole, end, STORED))
    report("scan all keys", round(value * 1e3, 2), "ms", cpu_ms=round(cpu * 1e3, 2))


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


def main() -> None:
    # As in a worker.
    collect_seldom()
    read()
    test_partitions()
    find_within_bounds()
    with stored() as store:
        find_in_store(store)


if __name__ == "__main__":
    main()
