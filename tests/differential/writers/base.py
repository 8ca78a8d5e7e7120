"""The base of all actions of a writer."""

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

from tests.differential.names import Names
from tests.support.hive import hms_client
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient

INSERT_ONLY = 2
# A metastore that is stuck in its own locks never answers.
TIMEOUT_MS = 20_000


class Base:
    """A client with the capabilities of its engine. Its actions take short names of objects."""

    def __init__(
        self,
        address: str,
        names: Names,
        capabilities: Sequence[str] | None,
        transactions: dict[str, int],
        write_ids: dict[tuple[str, str, str], int],
    ) -> None:
        self._address = address
        self._connection = ExitStack()
        self.connect()
        self.names = names
        self.capabilities = None if capabilities is None else list(capabilities)
        self.transactions = transactions
        """The ids of transactions by their names in the script; all writers share them."""
        self.write_ids = write_ids
        """Write ids by transaction, database and table."""
        self._last_shown: dict[tuple[str, str], Any] = {}

    def connect(self) -> None:
        """Replaces the connection by a new one."""
        self.close()
        self.client: HmsClient = self._connection.enter_context(
            hms_client.connect(self._address, TIMEOUT_MS)
        )
        self.rpc, self.t = self.client.rpc, self.client.t

    def close(self) -> None:
        self._connection.close()

    def place(self, db: str, table: str) -> tuple[str, str]:
        return self.names.full(db), self.names.full(table)

    def table(self, db: str, table: str, *, stale: bool = False) -> Any:
        """A table as the metastore shows it now or, if `stale`, as this writer last saw it."""
        key = self.place(db, table)
        if not stale or key not in self._last_shown:
            self._last_shown[key] = self.shown(*key)
        return self._last_shown[key]

    def shown(self, db: str, table: str) -> Any:
        request = self.t.GetTableRequest(
            dbName=db,
            tblName=table,
            catName="hive",
            capabilities=self.t.ClientCapabilities(values=[INSERT_ONLY]),
            processorCapabilities=self.capabilities,
            processorIdentifier="test",
        )
        return self.rpc.get_table_req(request).table

    def able(self) -> dict[str, Any]:
        """The fields of a request that state the engine's capabilities."""
        return {"processorCapabilities": self.capabilities, "processorIdentifier": "test"}

    def context(self, **properties: str) -> Any:
        return self.t.EnvironmentContext(properties=properties)

    def new_partition(self, of: Any, values: Sequence[str], **fields: Any) -> Any:
        """A partition for a table that the metastore has shown, without a location."""
        types = {column.name: column.type for column in of.sd.cols or ()}
        return self.t.Partition(
            values=list(values),
            dbName=of.dbName,
            tableName=of.tableName,
            catName="hive",
            createTime=0,
            lastAccessTime=0,
            sd=objects.storage(types),
            parameters={},
            **fields,
        )
