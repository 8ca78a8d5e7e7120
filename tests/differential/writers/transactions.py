"""Writes in transactions of Hive."""

from collections.abc import Sequence
from typing import Any

from tests.differential.writers.base import Base
from tests.differential.writers.statistics import Figure, statistics
from tests.differential.writers.struct_changes import Change, change


class Transactions(Base):
    """Actions in transactions; `txn` is the name of a transaction in the script."""

    def begin(self, txn: str) -> None:
        self.transactions[txn] = self.client.open_transaction()

    def allocate(self, txn: str, db: str, table: str) -> None:
        place = self.place(db, table)
        id_ = self.client.allocate_write_id(self.transactions[txn], *place)
        self.write_ids[txn, db, table] = id_

    def commit(self, txn: str) -> None:
        self.client.commit(self.transactions[txn])

    def abort(self, txn: str) -> None:
        self.client.abort(self.transactions[txn])

    def abort_txns(self, txns: Sequence[str]) -> None:
        ids = [self.transactions[txn] for txn in txns]
        self.rpc.abort_txns(self.t.AbortTxnsRequest(txn_ids=ids))

    def alter_table_in(
        self, txn: str, db: str, table: str, by: Change, with_list: bool = True
    ) -> None:
        """Alters a table as an insert does, which states row counts and that they are accurate."""
        altered = change(self.table(db, table), by)
        altered.writeId, lists = self._written(txn, db, table)
        self.rpc.alter_table_req(
            self.t.AlterTableRequest(
                catName="hive",
                dbName=altered.dbName,
                tableName=altered.tableName,
                table=altered,
                environmentContext=self.context(DO_NOT_UPDATE_STATS="true"),
                writeId=altered.writeId,
                validWriteIdList=lists if with_list else None,
                **self.able(),
            )
        )

    def add_partitions_in(
        self, txn: str, db: str, table: str, values: Sequence[Sequence[str]]
    ) -> None:
        of = self.table(db, table)
        write_id, lists = self._written(txn, db, table)
        made = [self.new_partition(of, one, writeId=write_id) for one in values]
        self.rpc.add_partitions_req(
            self.t.AddPartitionsRequest(
                catName="hive",
                dbName=of.dbName,
                tblName=of.tableName,
                parts=made,
                ifNotExists=True,
                validWriteIdList=lists,
            )
        )

    def alter_partitions_in(
        self, txn: str, db: str, table: str, values: Sequence[Sequence[str]], by: Change
    ) -> None:
        place = self.place(db, table)
        write_id, lists = self._written(txn, db, table)
        altered = [change(self.rpc.get_partition(*place, list(one)), by) for one in values]
        for partition in altered:
            partition.writeId = write_id
        self.rpc.alter_partitions_req(
            self.t.AlterPartitionsRequest(
                catName="hive",
                dbName=place[0],
                tableName=place[1],
                partitions=altered,
                environmentContext=self.context(DO_NOT_UPDATE_STATS="true"),
                writeId=write_id,
                validWriteIdList=lists,
            )
        )

    def rename_partition_in(
        self, txn: str, db: str, table: str, values: Sequence[str], to: Sequence[str]
    ) -> None:
        place = self.place(db, table)
        write_id, lists = self._written(txn, db, table)
        new = change(self.rpc.get_partition(*place, list(values)), {"values": list(to)})
        new.writeId = write_id
        self.rpc.rename_partition_req(
            self.t.RenamePartitionRequest(
                catName="hive",
                dbName=place[0],
                tableName=place[1],
                partVals=list(values),
                newPart=new,
                validWriteIdList=lists,
            )
        )

    def update_statistics_in(
        self, txn: str, db: str, table: str, partition: str | None, of: Sequence[Figure]
    ) -> None:
        write_id, lists = self._written(txn, db, table)
        made = statistics(self.t, self.place(db, table), partition, of, "hive")
        request = self.t.SetPartitionsStatsRequest(
            colStats=[made], writeId=write_id, validWriteIdList=lists, engine="hive"
        )
        if partition is None:
            self.rpc.update_table_column_statistics_req(request)
        else:
            self.rpc.update_partition_column_statistics_req(request)

    def truncate_in(self, txn: str, db: str, table: str) -> None:
        full_db, full = self.place(db, table)
        write_id, lists = self._written(txn, db, table)
        self.rpc.truncate_table_req(
            self.t.TruncateTableRequest(
                dbName=full_db, tableName=full, writeId=write_id, validWriteIdList=lists
            )
        )

    def _written(self, txn: str, db: str, table: str) -> tuple[int, Any]:
        """The transaction's write id for a table, and the write-id list that it may read."""
        transactions = self.client.valid_transactions(self.transactions[txn])
        lists = self.client.valid_write_ids(*self.place(db, table), transactions)
        return self.write_ids[txn, db, table], lists
