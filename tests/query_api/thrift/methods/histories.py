"""Random operations on a real metastore, such as make caches wrong."""

from collections.abc import Callable
from contextlib import suppress
from random import Random
from typing import Any

from tests.query_api.thrift.methods.corpus import shown
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient

TYPES = {"id": "bigint", "name": "string"}
KEYS = {"ds": "string", "n": "int"}
NAMES = ("alpha", "beta", "gamma", "delta")
DAYS = ("2024-01-01", "2024-01-02", "a b", "x_y")
VALUES = [*DAYS, ""]


class History:
    """One that always comes out the same from the same seed."""

    def __init__(self, client: HmsClient, databases: tuple[str, str], seed: int) -> None:
        self._client = client
        self._databases = databases
        self._random = Random(seed)
        self._steps: tuple[Callable[[], None], ...] = (
            *(self._create, self._create, self._add, self._add, self._add),
            *(self._drop, self._rename, self._columns, self._alter, self._drop_partition),
            *(self._rename_partition, self._statistics, self._partition_statistics),
            *(self._write, self._truncate, self._describe),
        )
        for db in databases:
            client.create_database(db)

    def go_on(self, steps: int) -> int:
        """How many steps there was something to do for."""
        done = 0
        while done < steps:
            step = self._random.choice(self._steps)
            if step == self._create or self._tables():
                # It refuses a rename to where files of a dropped table are.
                with suppress(self._client.t.InvalidOperationException):
                    step()
                done += 1
        return done

    def _tables(self) -> list[tuple[str, str]]:
        rpc = self._client.rpc
        return [(db, name) for db in self._databases for name in sorted(rpc.get_all_tables(db))]

    def _any(self) -> Any:
        return shown(self._client, *self._random.choice(self._tables()))

    def _partition(self, table: Any) -> Any | None:
        found = self._client.partitions(table.dbName, table.tableName)
        return self._random.choice(found) if found else None

    def _free(self) -> tuple[str, str] | None:
        taken = set(self._tables())
        free = [(db, name) for db in self._databases for name in NAMES if (db, name) not in taken]
        return self._random.choice(free) if free else None

    def _create(self) -> None:
        place = self._free()
        if place is not None:
            keys = KEYS if self._random.random() < 0.8 else {}
            managed = self._random.random() < 0.5
            self._client.create_table(objects.table(*place, TYPES, keys, transactional=managed))

    def _drop(self) -> None:
        table = self._any()
        self._client.rpc.drop_table(table.dbName, table.tableName, False)

    def _rename(self) -> None:
        table, place = self._any(), self._free()
        if place is None:
            return
        old = table.dbName, table.tableName
        if table.tableType == "MANAGED_TABLE":
            place = old[0], place[1]
        if place not in self._tables():
            table.dbName, table.tableName = place
            self._client.alter_table(*old, table)

    def _columns(self) -> None:
        table = self._any()
        number = len(table.sd.cols)
        new = self._client.t.FieldSchema(name=f"c{number}", type="string", comment="")
        table.sd.cols = [*table.sd.cols, new]
        cascade = bool(table.partitionKeys) and self._random.random() < 0.5
        self._client.alter_table(table.dbName, table.tableName, table, cascade=cascade)

    def _describe(self) -> None:
        table = self._any()
        table.parameters = {**table.parameters, "comment": str(self._random.randrange(99))}
        self._client.alter_table(table.dbName, table.tableName, table)

    def _add(self) -> None:
        table = self._any()
        if not table.partitionKeys:
            return
        there = {tuple(one.values) for one in self._partitions(table)}
        chosen = {
            (self._random.choice(VALUES), str(self._random.randrange(12)))
            for _ in range(self._random.randrange(1, 4))
        }
        if chosen - there:
            self._client.add_partitions(table, sorted(chosen - there))

    def _partitions(self, table: Any) -> list[Any]:
        return self._client.partitions(table.dbName, table.tableName)

    def _alter(self) -> None:
        table = self._any()
        partition = self._partition(table)
        if partition is not None:
            partition.parameters = {**partition.parameters, "note": "new"}
            self._client.alter_partitions(table, [partition])

    def _drop_partition(self) -> None:
        table = self._any()
        partition = self._partition(table)
        if partition is not None:
            rpc = self._client.rpc
            rpc.drop_partition(table.dbName, table.tableName, partition.values, False)

    def _rename_partition(self) -> None:
        table = self._any()
        partition = self._partition(table)
        if partition is not None:
            old, new = list(partition.values), ["renamed", str(self._random.randrange(12, 99))]
            if tuple(new) not in {tuple(one.values) for one in self._partitions(table)}:
                partition.values = new
                self._client.rename_partition(table, old, partition)

    def _statistics(self) -> None:
        table = self._any()
        if table.tableType != "MANAGED_TABLE":
            figures = objects.long_statistics("id", numNulls=self._random.randrange(9))
            self._client.update_statistics(table, [figures])

    def _partition_statistics(self) -> None:
        table = self._any()
        partition = self._partition(table)
        if partition is not None and table.tableType != "MANAGED_TABLE":
            names = self._client.rpc.get_partition_names(table.dbName, table.tableName, -1)
            figures = objects.long_statistics("id", numNulls=self._random.randrange(9))
            name = self._random.choice(names)
            self._client.update_statistics(table, [figures], partition=name)

    def _write(self) -> None:
        """A transaction that adds a partition and commits, aborts or stays open."""
        table = self._any()
        if table.tableType != "MANAGED_TABLE" or not table.partitionKeys:
            return
        client, place = self._client, (table.dbName, table.tableName)
        txn = client.open_transaction()
        write_id = client.allocate_write_id(txn, *place)
        values = ["written", str(txn)]
        client.add_partitions(table, [values], write_id=write_id)
        match self._random.randrange(3):
            case 0:
                client.commit(txn)
            case 1:
                client.abort(txn)

    def _truncate(self) -> None:
        table = self._any()
        if table.tableType != "MANAGED_TABLE":
            self._client.truncate(table.dbName, table.tableName)
