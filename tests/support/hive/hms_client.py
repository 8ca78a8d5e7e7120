"""A client of a metastore, as Hive's own would call it."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from thriftpy2.rpc import make_client

from tests.support.hive import hms_objects as objects
from tests.support.hive import idl
from tests.support.hive.hms_transactions import Transactions

# Without these, the metastore refuses managed tables or makes them external.
CAPABILITIES = [
    "HIVEFULLACIDREAD",
    "HIVEFULLACIDWRITE",
    "HIVEMANAGEDINSERTREAD",
    "HIVEMANAGEDINSERTWRITE",
    "HIVECACHEINVALIDATE",
    "HIVEMANAGESTATS",
    "HIVEONLYMQTWRITE",
    "HIVESQL",
    "HIVEMQT",
    "HIVEBUCKET2",
    "ICEBERG",
    "EXTREAD",
    "EXTWRITE",
    "CONNECTORREAD",
    "CONNECTORWRITE",
]
_CAPABLE = {"processorCapabilities": CAPABILITIES, "processorIdentifier": "metatide-test"}
_INSERT_ONLY_TABLES = 2
_TIMEOUT_MS = 60_000

Constraints = Mapping[str, Sequence[Any]]
"""Constraints of a new table, by the names of CreateTableRequest's fields."""


class HmsClient(Transactions):
    """A connection. `rpc` has every call of the interface; the methods make the common ones
    shorter.
    """

    def create_database(self, name: str, **fields: Any) -> None:
        self.rpc.create_database(objects.database(name, **fields))

    def create_table(self, table: Any, constraints: Constraints | None = None) -> Any:
        """Creates a table; returns it as the metastore shows it."""
        self.rpc.create_table_req(
            self.t.CreateTableRequest(table=table, **_CAPABLE, **(constraints or {}))
        )
        return self.table(table.dbName, table.tableName)

    def table(
        self, database: str, name: str, valid_write_ids: str | None = None, table_id: int = -1
    ) -> Any:
        request = self.t.GetTableRequest(
            dbName=database,
            tblName=name,
            catName="hive",
            capabilities=self.t.ClientCapabilities(values=[_INSERT_ONLY_TABLES]),
            validWriteIdList=valid_write_ids,
            id=table_id,
            **_CAPABLE,
        )
        return self.rpc.get_table_req(request).table

    def alter_table(
        self,
        database: str,
        name: str,
        table: Any,
        *,
        write_id: int = -1,
        valid_write_ids: str | None = None,
        cascade: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """`properties` are those of the call, not of the table."""
        of_call = {**(properties or {}), **({"CASCADE": "true"} if cascade else {})}
        context = self.t.EnvironmentContext(properties=of_call) if of_call else None
        self.rpc.alter_table_req(
            self.t.AlterTableRequest(
                catName="hive",
                dbName=database,
                tableName=name,
                table=table,
                environmentContext=context,
                writeId=write_id,
                validWriteIdList=valid_write_ids,
                **_CAPABLE,
            )
        )

    def truncate(self, database: str, name: str, *, write_id: int = -1) -> None:
        self.rpc.truncate_table_req(
            self.t.TruncateTableRequest(dbName=database, tableName=name, writeId=write_id)
        )

    def add_partitions(
        self, table: Any, values: Sequence[Sequence[str]], *, write_id: int = -1
    ) -> None:
        parts = [objects.partition(table, one, writeId=write_id) for one in values]
        self.rpc.add_partitions_req(
            self.t.AddPartitionsRequest(
                catName="hive",
                dbName=table.dbName,
                tblName=table.tableName,
                parts=parts,
                ifNotExists=False,
            )
        )

    def alter_partitions(
        self,
        table: Any,
        partitions: Sequence[Any],
        *,
        write_id: int = -1,
        valid_write_ids: str | None = None,
    ) -> None:
        self.rpc.alter_partitions_req(
            self.t.AlterPartitionsRequest(
                catName="hive",
                dbName=table.dbName,
                tableName=table.tableName,
                partitions=list(partitions),
                writeId=write_id,
                validWriteIdList=valid_write_ids,
            )
        )

    def rename_partition(self, table: Any, values: Sequence[str], to: Any) -> None:
        self.rpc.rename_partition_req(
            self.t.RenamePartitionRequest(
                catName="hive",
                dbName=table.dbName,
                tableName=table.tableName,
                partVals=list(values),
                newPart=to,
            )
        )

    def partitions(self, database: str, name: str) -> list[Any]:
        return list(self.rpc.get_partitions(database, name, -1))

    def update_statistics(
        self,
        table: Any,
        figures: Sequence[Any],
        *,
        partition: str | None = None,
        write_id: int = -1,
        valid_write_ids: str | None = None,
    ) -> None:
        """Updates column statistics of a partition, if it is named, or of the table."""
        request = self.t.SetPartitionsStatsRequest(
            colStats=[objects.statistics(table, figures, partition)],
            needMerge=False,
            writeId=write_id,
            validWriteIdList=valid_write_ids,
        )
        if partition is None:
            self.rpc.update_table_column_statistics_req(request)
        else:
            self.rpc.update_partition_column_statistics_req(request)

    def add_not_null(self, table: Any, column: str, name: str) -> None:
        constraint = self.t.SQLNotNullConstraint(
            catName="hive",
            table_db=table.dbName,
            table_name=table.tableName,
            column_name=column,
            nn_name=name,
            enable_cstr=False,
            validate_cstr=False,
            rely_cstr=True,
        )
        self.rpc.add_not_null_constraint(
            self.t.AddNotNullConstraintRequest(notNullConstraintCols=[constraint])
        )

    def drop_constraint(self, table: Any, name: str) -> None:
        self.rpc.drop_constraint(
            self.t.DropConstraintRequest(
                catName="hive",
                dbname=table.dbName,
                tablename=table.tableName,
                constraintname=name,
            )
        )

    def create_function(self, database: str, name: str, class_name: str) -> None:
        self.rpc.create_function(objects.function(database, name, class_name))

    def position(self) -> int:
        """The id of the last event."""
        return int(self.rpc.get_current_notificationEventId().eventId)

    def events(self, after: int = 0) -> list[Any]:
        return list(
            self.rpc.get_next_notification(self.t.NotificationEventRequest(lastEvent=after)).events
        )


@contextmanager
def connect(
    address: str, timeout_ms: int = _TIMEOUT_MS, kind: type[HmsClient] = HmsClient
) -> Iterator[HmsClient]:
    """A client of the metastore at thrift://HOST:PORT."""
    parts = urlsplit(address)
    assert parts.hostname, f"{address} is not thrift://HOST:PORT"
    assert parts.port, f"{address} is not thrift://HOST:PORT"
    rpc = make_client(
        idl.load().ThriftHiveMetastore, parts.hostname, parts.port, timeout=timeout_ms
    )
    try:
        yield kind(rpc)
    finally:
        rpc.close()
