"""A client of a metastore of Hive 3, which lacks most of the calls that take a request."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import Constraints, HmsClient


class OldHmsClient(HmsClient):
    """The same client by older calls, which can't express some arguments, such as write ids."""

    def create_table(self, table: Any, constraints: Constraints | None = None) -> Any:
        by_kind = constraints or {}
        self.rpc.create_table_with_constraints(
            table,
            *(
                list(by_kind.get(kind, ()))
                for kind in (
                    *("primaryKeys", "foreignKeys", "uniqueConstraints", "notNullConstraints"),
                    *("defaultConstraints", "checkConstraints"),
                )
            ),
        )
        return self.table(table.dbName, table.tableName)

    def table(
        self, database: str, name: str, valid_write_ids: str | None = None, table_id: int = -1
    ) -> Any:
        able = self.t.ClientCapabilities(values=[self.t.ClientCapability.INSERT_ONLY_TABLES])
        request = self.t.GetTableRequest(dbName=database, tblName=name, capabilities=able)
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
        context = self.t.EnvironmentContext(properties=of_call)
        self.rpc.alter_table_with_environment_context(database, name, table, context)

    def truncate(self, database: str, name: str, *, write_id: int = -1) -> None:
        self.rpc.truncate_table(database, name, None)

    def alter_partitions(
        self,
        table: Any,
        partitions: Sequence[Any],
        *,
        write_id: int = -1,
        valid_write_ids: str | None = None,
    ) -> None:
        self.rpc.alter_partitions_with_environment_context(
            table.dbName, table.tableName, list(partitions), None
        )

    def rename_partition(self, table: Any, values: Sequence[str], to: Any) -> None:
        self.rpc.rename_partition(table.dbName, table.tableName, list(values), to)

    def update_statistics(
        self,
        table: Any,
        figures: Sequence[Any],
        *,
        partition: str | None = None,
        write_id: int = -1,
        valid_write_ids: str | None = None,
    ) -> None:
        # Hive 3 has no statistics of timestamps.
        able = [one for one in figures if one.statsData.timestampStats is None]
        statistics = objects.statistics(table, able, partition)
        if partition is None:
            self.rpc.update_table_column_statistics(statistics)
        else:
            self.rpc.update_partition_column_statistics(statistics)
