"""The store: a million partitions on disk and in memory, and how fast they are read.

Beside each figure is a raw baseline: the same work by plain calls of rocksdict, on the same entries
in the same run, or the size of the plain entries.
"""

import shutil
import tempfile
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from random import Random
from statistics import median
from time import perf_counter, thread_time
from typing import Any, Final

import psutil
from rocksdict import Options, Rdict, WriteBatch

from benchmarks.report import report
from hive.names import TableName
from hive.thrift.binary import encode
from hive.thrift.structs import PARTITION
from state import entries, keys
from state.kv import View, after, scan_prefix
from state.store import Identity, MemoryBudget, Store, StorePosition
from state.store.families import SHARD_FAMILIES

PARTITIONS: Final = 1_000_000
PARTITIONS_A_TABLE: Final = 10_000
PARTITIONS_A_COMMIT: Final = 1000
HOT_TABLES: Final = 1000
TABLE_BYTES: Final = 1500
READS: Final = 300_000
REPEATS: Final = 5
BUDGET: Final = MemoryBudget(128 * 1024 * 1024)
IDENTITY: Final = Identity(format_version=1, topic_id="benchmark", partitions=1, shard=0)
TYPES: Final = ("bigint", "string", "int", "double", "timestamp", "decimal(18,2)")


def table_name(number: int) -> TableName:
    return TableName("hive", "sales", f"orders_{number:04d}")


def values_of(number: int) -> tuple[str, str]:
    day, hour = divmod(number, 24)
    return f"{2020 + day // 336}-{day // 28 % 12 + 1:02d}-{day % 28 + 1:02d}", f"{hour:02d}"


def partition(random: Random, table: TableName, number: int) -> dict[str, Any]:
    """A partition as Hive writes it: it repeats the table's columns and formats, and has a location
    and numbers of its own.
    """
    day, hour = values_of(number)
    created = 1_760_000_000 + random.randrange(30_000_000)
    return {
        "values": [day, hour],
        "dbName": table.db,
        "tableName": table.table,
        "createTime": created,
        "lastAccessTime": 0,
        "sd": {
            "cols": [{"name": f"c{index}", "type": TYPES[index]} for index in range(3)],
            "location": f"s3a://lake/{table.db}/{table.table}/ds={day}/hr={hour}",
            "inputFormat": "o.a.h.hive.ql.io.orc.OrcInputFormat",
            "outputFormat": "o.a.h.hive.ql.io.orc.OrcOutputFormat",
            "compressed": False,
            "numBuckets": -1,
            "serdeInfo": {
                "serializationLib": "o.a.h.hive.ql.io.orc.OrcSerde",
                "parameters": {"serialization.format": "1"},
            },
            "bucketCols": [],
            "sortCols": [],
            "parameters": {},
            "storedAsSubDirectories": False,
        },
        "parameters": {
            "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}',
            "numFiles": str(random.randrange(1, 200)),
            "numRows": str(random.randrange(10**8)),
            "totalSize": str(random.randrange(10**10)),
            "transient_lastDdlTime": str(created),
        },
        "catName": table.catalog,
        "writeId": random.randrange(1, 100),
    }


def partitions() -> Iterator[tuple[bytes, bytes]]:
    random = Random(7)
    for number in range(PARTITIONS):
        table = table_name(number // PARTITIONS_A_TABLE)
        within = number % PARTITIONS_A_TABLE
        data = encode(PARTITION, partition(random, table, within))
        yield keys.partition(table, values_of(within)), entries.encode(number, data)


def batches(
    items: Iterable[tuple[bytes, bytes]],
) -> Iterator[list[tuple[bytes, bytes]]]:
    iterator = iter(items)
    return iter(lambda: list(islice(iterator, PARTITIONS_A_COMMIT)), [])


def sorted_bytes(path: Path) -> int:
    return sum(file.stat().st_size for file in path.glob("*.sst"))


def load(store: Store) -> tuple[int, int, float]:
    """Loads all partitions; returns their bytes, the maximum of memory, and the seconds in the
    store.
    """
    process = psutil.Process()
    raw_bytes, rss_bytes_max, seconds = 0, 0, 0.0
    transaction = store.transaction()
    offset = store.position.offset
    for batch in batches(partitions()):
        start = thread_time()
        for key, value in batch:
            transaction.put(key, value)
        offset += 1
        store.commit(transaction, StorePosition(0, offset, offset))
        seconds += thread_time() - start
        raw_bytes += sum(len(key) + len(value) for key, value in batch)
        rss_bytes_max = max(rss_bytes_max, process.memory_info().rss)
    return raw_bytes, rss_bytes_max, seconds


def load_tables(store: Store) -> list[bytes]:
    random = Random(7)
    transaction = store.transaction()
    names = [keys.of_table(keys.TABLE, table_name(number)) for number in range(HOT_TABLES)]
    for key in names:
        transaction.put(key, random.randbytes(TABLE_BYTES // 2).hex().encode())
    store.commit(transaction, store.position)
    return names


def a_second(count: int, work: Callable[[], object]) -> float:
    """The median rate per second at which `work`, which does `count` things, does them.

    These are seconds of this thread's processor time, so that other processes matter less.
    """
    rates = []
    for _ in range(REPEATS):
        start = thread_time()
        work()
        rates.append(count / (thread_time() - start))
    return round(median(rates))


def raw_database(path: Path, copied: Iterable[tuple[bytes, bytes]]) -> Rdict:
    """A database with the same entries in the write buffer, where RocksDB reads them fastest."""
    database = Rdict(str(path), Options(raw_mode=True))
    batch = WriteBatch(raw_mode=True)
    for key, value in copied:
        batch.put(key, value)
    database.write(batch)
    return database


def exhaust(iterator: Iterator[object]) -> None:
    deque(iterator, maxlen=0)


def read_tables(store: Store, names: list[bytes], raw: Rdict) -> None:
    hot = [names[index % HOT_TABLES] for index in range(READS)]
    some = hot[: READS // 10]
    snapshot = store.snapshot()
    transaction = store.transaction()
    baseline = a_second(READS, lambda: exhaust(map(raw.get, hot)))
    rates = {
        "from a snapshot": a_second(READS, lambda: exhaust(map(snapshot.get, hot))),
        "from a transaction": a_second(READS, lambda: exhaust(map(transaction.get, hot))),
        "each from a snapshot of its own": a_second(
            len(some), lambda: exhaust(store.snapshot().get(key) for key in some)
        ),
    }
    for name, rate in rates.items():
        report(f"point reads of a table, {name}", rate, "1/s", rocksdict_get=baseline)


def partitions_of(view: View, table: int) -> Iterator[tuple[bytes, bytes]]:
    return scan_prefix(view, keys.of_table(keys.PARTITION, table_name(table)))


def scan_partitions(store: Store, raw: Rdict) -> None:
    snapshot = store.snapshot()
    transaction = store.transaction()
    transaction.put(keys.partition(table_name(0), ("later", "1")), b"")
    tables = iter(range(PARTITIONS // PARTITIONS_A_TABLE))
    count = PARTITIONS_A_TABLE
    baseline = a_second(count, lambda: exhaust(raw.items()))
    rates = {
        "for the first time": a_second(
            count, lambda: exhaust(partitions_of(snapshot, next(tables)))
        ),
        "again": a_second(count, lambda: exhaust(partitions_of(snapshot, 0))),
        "with changes over them": a_second(count, lambda: exhaust(partitions_of(transaction, 0))),
    }
    for name, rate in rates.items():
        report(f"entries in scans of 10,000, {name}", rate, "1/s", rocksdict_items=baseline)


def write_raw(path: Path, copied: list[tuple[bytes, bytes]]) -> float:
    """Puts per second, in write batches of the same size."""
    database = Rdict(str(path), Options(raw_mode=True))
    start = thread_time()
    for chunk in batches(copied):
        batch = WriteBatch(raw_mode=True)
        for key, value in chunk:
            batch.put(key, value)
        database.write(batch)
    rate = len(copied) / (thread_time() - start)
    database.close()
    return round(rate)


def main(directory: Path) -> None:
    with Store(directory / "shard", IDENTITY, families=SHARD_FAMILIES, budget=BUDGET) as store:
        rss_bytes_before = psutil.Process().memory_info().rss
        raw_bytes, rss_bytes_max, seconds = load(store)
        report(
            "resident memory at most while loading",
            round(rss_bytes_max / 2**20),
            "MiB",
            before=round(rss_bytes_before / 2**20),
        )
        sample = list(islice(partitions(), 100_000))
        report(
            "partitions put and committed",
            round(PARTITIONS / seconds),
            "1/s",
            rocksdict_write_batch=write_raw(directory / "written", sample),
        )
        loaded_bytes = sorted_bytes(directory / "shard")
        start = perf_counter()
        store.compact()
        report("compaction", round(perf_counter() - start, 1), "s", bytes_before=loaded_bytes)
        report(
            "disk a partition after compaction",
            round(sorted_bytes(directory / "shard") / PARTITIONS, 1),
            "bytes",
            key_and_entry=round(raw_bytes / PARTITIONS, 1),
        )
        names = load_tables(store)
        store.flush()
        snapshot = store.snapshot()
        tables = snapshot.scan(keys.TABLE, after(keys.TABLE))
        read_tables(store, names, raw_database(directory / "tables", tables))
        scan_partitions(store, raw_database(directory / "partitions", sample[:PARTITIONS_A_TABLE]))


if __name__ == "__main__":
    made = Path(tempfile.mkdtemp(prefix="metatide-store-"))
    try:
        main(made)
    finally:
        shutil.rmtree(made)
