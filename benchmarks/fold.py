"""The fold: how many records per second go from their bytes into RocksDB, on one core.

The mix is 70% additions and alterations of partitions, 10% alterations of tables and 20%
transaction events. The baseline decodes the same records and puts their bytes into RocksDB.
"""

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from random import Random
from statistics import median
from time import thread_time
from typing import Final

from rocksdict import Options, Rdict, WriteBatch

from benchmarks.report import report
from benchmarks.store import IDENTITY, partition, table_name, values_of
from hive.names import TableName
from hive.thrift.binary import encode as encode_thrift
from hive.thrift.structs import PARTITION, TABLE
from processors.applier import RECORDS_MAX, Applier
from state.records import Change, decode, encode
from state.records.actions import (
    AllocateWriteIds,
    AlterPartition,
    AlterTable,
    AnyAction,
    CommitTxn,
    CreateTable,
    PutPartitions,
)
from state.records.objects import PartitionImage, TableImage, fingerprint
from state.store import MemoryBudget, Store
from state.store.families import SHARD_FAMILIES

RECORDS: Final = 200_000
TABLES: Final = 200
REPEATS: Final = 3
BUDGET: Final = MemoryBudget(128 * 1024 * 1024)
COLUMNS_HASH: Final = 1
MANAGED_TABLES: Final = 50


class Workload:
    """Generates the events of a metastore with some tables, the first of which are managed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._tables = [table_name(number) for number in range(TABLES)]
        self._data: dict[TableName, bytes] = {}
        self._partitions: dict[TableName, list[bytes]] = {name: [] for name in self._tables}
        self._write_ids = dict.fromkeys(self._tables[:MANAGED_TABLES], 0)
        self._open: tuple[TableName, int, int] | None = None
        self._txn = 0

    def records(self, count: int) -> Iterator[bytes]:
        event = 0
        for name in self._tables:
            event += 1
            yield self._record(event, CreateTable(self._table(name, "0")))
        while event < count:
            event += 1
            yield self._record(event, self._action(event))

    def _record(self, event: int, action: AnyAction) -> bytes:
        return encode(Change(0, event - 1, event, (action,)))

    def _action(self, event: int) -> AnyAction:
        draw = self._random.random()
        if draw < 0.2:
            return self._transaction()
        name = self._random.choice(self._tables)
        if draw < 0.3:
            before = fingerprint(self._data[name])
            return AlterTable(self._table(name, str(event)), before, False, False)
        if draw < 0.65 or not self._partitions[name]:
            return self._add(name)
        return self._alter(name)

    def _transaction(self) -> AnyAction:
        if self._open is None:
            self._txn += 1
            name = self._random.choice(self._tables[:MANAGED_TABLES])
            self._write_ids[name] += 1
            self._open = name, self._txn, self._write_ids[name]
            return AllocateWriteIds(name, (self._txn,), (self._write_ids[name],))
        (name, txn, write_id), self._open = self._open, None
        return CommitTxn(txn, ((name.db, write_id),))

    def _table(self, name: TableName, version: str) -> TableImage:
        fields = {"tableName": name.table, "dbName": name.db, "parameters": {"version": version}}
        sd = partition(self._random, name, 0)["sd"]
        data = encode_thrift(TABLE, {**fields, "sd": sd})
        self._data[name] = data
        return TableImage(name, 1, 0, name in self._write_ids, True, data)

    def _add(self, name: TableName) -> AnyAction:
        number = len(self._partitions[name])
        image = self._partition(name, number)
        self._partitions[name].append(image.data)
        return PutPartitions(name, 0, (image,), added=True)

    def _alter(self, name: TableName) -> AnyAction:
        number = self._random.randrange(len(self._partitions[name]))
        before = self._partitions[name][number]
        image = self._partition(name, number)
        self._partitions[name][number] = image.data
        return AlterPartition(name, 0, image.values, fingerprint(before), image, False)

    def _partition(self, name: TableName, number: int) -> PartitionImage:
        data = encode_thrift(PARTITION, partition(self._random, name, number))
        return PartitionImage(values_of(number), 0, COLUMNS_HASH, data)


def batches(records: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(records), RECORDS_MAX):
        yield records[start : start + RECORDS_MAX]


def fold_seconds(records: Sequence[bytes]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "shard")
        with Store(path, IDENTITY, families=SHARD_FAMILIES, budget=BUDGET) as store:
            start = thread_time()
            applier = Applier(store)
            for offset, value in enumerate(records):
                applier.add(offset, value)
                if applier.full:
                    applier.commit()
            applier.commit()
            return thread_time() - start


def baseline_seconds(records: Sequence[bytes]) -> float:
    with tempfile.TemporaryDirectory() as folder:
        database = Rdict(str(Path(folder, "raw")), Options(raw_mode=True))
        start = thread_time()
        for number, batch in enumerate(batches(records)):
            writes = WriteBatch(raw_mode=True)
            for at, value in enumerate(batch):
                decode(value)
                writes.put(b"%d/%d" % (number, at), value)
            database.write(writes)
        seconds = thread_time() - start
        database.close()
        return seconds


def main() -> None:
    records = list(Workload(seed=1).records(RECORDS))
    folded = median(len(records) / fold_seconds(records) for _ in range(REPEATS))
    raw = median(len(records) / baseline_seconds(records) for _ in range(REPEATS))
    report(
        "fold_from_bytes_to_rocksdb",
        round(folded),
        "records/s",
        decode_and_put_raw=round(raw),
        bytes_a_record=round(sum(map(len, records)) / len(records)),
    )


if __name__ == "__main__":
    main()
