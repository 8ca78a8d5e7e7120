"""Writes partitions."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.differential.writers.base import Base
from tests.differential.writers.struct_changes import Change, change

Values = Sequence[str]


class Partitions(Base):
    """Actions on partitions; each has the name of the interface's method."""

    def add_partition(self, db: str, table: str, values: Values, by: Change) -> None:
        self.rpc.add_partition(change(self.new_partition(self.table(db, table), values), by))

    def add_partition_with_environment_context(
        self, db: str, table: str, values: Values, by: Change
    ) -> None:
        made = change(self.new_partition(self.table(db, table), values), by)
        self.rpc.add_partition_with_environment_context(made, self.context())

    def add_partitions(self, db: str, table: str, values: Sequence[Values], by: Change) -> None:
        of = self.table(db, table)
        self.rpc.add_partitions([change(self.new_partition(of, one), by) for one in values])

    def add_partitions_req(
        self, db: str, table: str, values: Sequence[Values], by: Change, missing_only: bool
    ) -> None:
        of = self.table(db, table)
        self.rpc.add_partitions_req(
            self.t.AddPartitionsRequest(
                catName="hive",
                dbName=of.dbName,
                tblName=of.tableName,
                parts=[change(self.new_partition(of, one), by) for one in values],
                ifNotExists=missing_only,
            )
        )

    def add_partitions_pspec(
        self, db: str, table: str, values: Sequence[Values], by: Change
    ) -> None:
        of = self.table(db, table)
        made = [change(self.new_partition(of, one), by) for one in values]
        spec = self.t.PartitionSpec(
            dbName=of.dbName,
            tableName=of.tableName,
            catName="hive",
            partitionList=self.t.PartitionListComposingSpec(partitions=made),
        )
        self.rpc.add_partitions_pspec([spec])

    def append_partition(self, db: str, table: str, values: Values) -> None:
        self.rpc.append_partition(*self.place(db, table), list(values))

    def append_partition_by_name(self, db: str, table: str, name: str) -> None:
        self.rpc.append_partition_by_name(*self.place(db, table), name)

    def drop_partition(self, db: str, table: str, values: Values) -> None:
        self.rpc.drop_partition(*self.place(db, table), list(values), True)

    def drop_partition_by_name(self, db: str, table: str, name: str) -> None:
        self.rpc.drop_partition_by_name(*self.place(db, table), name, False)

    def drop_partitions_req(self, db: str, table: str, names: Sequence[str]) -> None:
        full_db, full = self.place(db, table)
        self.rpc.drop_partitions_req(
            self.t.DropPartitionsRequest(
                catName="hive",
                dbName=full_db,
                tblName=full,
                parts=self.t.RequestPartsSpec(names=list(names)),
                deleteData=False,
                ifExists=True,
            )
        )

    def alter_partition(self, db: str, table: str, values: Values, by: Change) -> None:
        [altered] = self._altered_partitions(db, table, [values], by)
        self.rpc.alter_partition(*self.place(db, table), altered)

    def alter_partition_with_environment_context(
        self, db: str, table: str, values: Values, by: Change, properties: Mapping[str, str]
    ) -> None:
        [altered] = self._altered_partitions(db, table, [values], by)
        context = self.context(**properties)
        self.rpc.alter_partition_with_environment_context(*self.place(db, table), altered, context)

    def alter_partitions(self, db: str, table: str, values: Sequence[Values], by: Change) -> None:
        self.rpc.alter_partitions(
            *self.place(db, table), self._altered_partitions(db, table, values, by)
        )

    def alter_partitions_with_environment_context(
        self,
        db: str,
        table: str,
        values: Sequence[Values],
        by: Change,
        properties: Mapping[str, str],
    ) -> None:
        altered, context = (
            self._altered_partitions(db, table, values, by),
            self.context(**properties),
        )
        place = self.place(db, table)
        self.rpc.alter_partitions_with_environment_context(*place, altered, context)

    def alter_partitions_req(
        self, db: str, table: str, values: Sequence[Values], by: Change
    ) -> None:
        full_db, full = self.place(db, table)
        self.rpc.alter_partitions_req(
            self.t.AlterPartitionsRequest(
                catName="hive",
                dbName=full_db,
                tableName=full,
                partitions=self._altered_partitions(db, table, values, by),
            )
        )

    def rename_partition(self, db: str, table: str, values: Values, to: Values) -> None:
        [new] = self._altered_partitions(db, table, [values], {"values": list(to)})
        self.rpc.rename_partition(*self.place(db, table), list(values), new)

    def rename_partition_req(self, db: str, table: str, values: Values, to: Values) -> None:
        [new] = self._altered_partitions(db, table, [values], {"values": list(to)})
        full_db, full = self.place(db, table)
        self.rpc.rename_partition_req(
            self.t.RenamePartitionRequest(
                catName="hive",
                dbName=full_db,
                tableName=full,
                partVals=list(values),
                newPart=new,
            )
        )

    def exchange_partitions(
        self, db: str, table: str, to_db: str, to: str, spec: Mapping[str, str]
    ) -> None:
        source, target = self.place(db, table), self.place(to_db, to)
        self.rpc.exchange_partitions(dict(spec), *source, *target)

    def exchange_partition(
        self, db: str, table: str, to_db: str, to: str, spec: Mapping[str, str]
    ) -> None:
        source, target = self.place(db, table), self.place(to_db, to)
        self.rpc.exchange_partition(dict(spec), *source, *target)

    def _altered_partitions(
        self, db: str, table: str, values: Sequence[Values], by: Change
    ) -> list[Any]:
        place = self.place(db, table)
        return [change(self.rpc.get_partition(*place, list(one)), by) for one in values]
