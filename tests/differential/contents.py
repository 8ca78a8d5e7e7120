"""The objects of a run, as the metastore shows them now."""

from typing import Any

from thriftpy2.thrift import TException

from hive.names import partition_values
from tests.differential.names import DATABASES, Names
from tests.differential.question_parts import KnownTable
from tests.query_api.thrift.methods.corpus import INSERT_ONLY, shown
from tests.support.hive.hms_client import HmsClient

Place = tuple[str, str]


class Contents:
    """Asks a metastore. Places have short names; `KnownTable` has full ones."""

    def __init__(self, client: HmsClient, names: Names) -> None:
        self._client = client
        self._names = names

    def databases(self) -> list[str]:
        there = set(self._client.rpc.get_all_databases())
        return [db for db in DATABASES if self._names.full(db) in there]

    def tables(self) -> dict[Place, KnownTable]:
        """All tables, without their write ids."""
        return {
            (db, self._names.short(table.tableName)): self._known_table(table)
            for db in self.databases()
            for table in self._tables(self._names.full(db))
        }

    def with_ids(self, known: KnownTable) -> KnownTable:
        """Adds the write-id list of a reader that begins now."""
        return known._replace(ids=self._client.valid_write_ids(known.db, known.name))

    def of(self, db: str, name: str) -> KnownTable | None:
        """A table by its full names; None if it can't be read."""
        try:
            return self.with_ids(self._known_table(shown(self._client, db, name)))
        except TException:
            return None

    def _tables(self, db: str) -> list[Any]:
        t, rpc = self._client.t, self._client.rpc
        request = t.GetTablesRequest(
            dbName=db,
            tblNames=sorted(rpc.get_all_tables(db)),
            catName="hive",
            capabilities=t.ClientCapabilities(values=[INSERT_ONLY]),
        )
        tables = rpc.get_table_objects_by_name_req(request).tables
        return sorted(tables, key=lambda table: str(table.tableName))

    def _known_table(self, table: Any) -> KnownTable:
        keys = tuple(key.name for key in table.partitionKeys or ())
        names: list[str] = []
        if keys:
            names = list(self._client.rpc.get_partition_names(table.dbName, table.tableName, -1))
        return KnownTable(
            table.dbName,
            table.tableName,
            keys,
            tuple(column.name for column in (table.sd and table.sd.cols) or ()),
            tuple(names),
            tuple(partition_values(one) for one in names),
            id=-1 if table.id is None else table.id,
        )
