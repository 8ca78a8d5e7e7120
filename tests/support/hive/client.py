"""Hive's own Java client of a metastore, controlled from Python."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from py4j.java_gateway import JavaGateway

CATALOG = "hive"


def log_in_by_keytab(
    java: JavaGateway, principal: str, keytab: Path, properties: Mapping[str, str]
) -> None:
    """Logs in the Java process, for all clients that it makes."""
    hadoop = java.jvm.org.apache.hadoop
    conf = hadoop.conf.Configuration()
    for name, value in {"hadoop.security.authentication": "kerberos", **properties}.items():
        conf.set(name, value)
    hadoop.security.UserGroupInformation.setConfiguration(conf)
    hadoop.security.UserGroupInformation.loginUserFromKeytab(principal, str(keytab))


class HiveClient:
    """A connection as Hive makes it, with the few calls that a session of Hive needs."""

    def __init__(
        self, java: JavaGateway, address: str, properties: Mapping[str, str] | None = None
    ) -> None:
        self._java = java
        self._metastore = java.jvm.org.apache.hadoop.hive.metastore
        self.api = self._metastore.api
        conf = self._metastore.conf.MetastoreConf.newMetastoreConf()
        conf.set("metastore.thrift.uris", address)
        conf.set("metastore.execute.setugi", "true")
        for name, value in (properties or {}).items():
            conf.set(name, value)
        self.client = self._metastore.HiveMetaStoreClient(conf)

    def close(self) -> None:
        self.client.close()

    def lists(self, table: Any) -> str:
        """The write-id list of a table for a transaction that begins now."""
        name = f"{table.getDbName()}.{table.getTableName()}"
        (write_ids,) = self.client.getValidWriteIds([name], self.client.getValidTxns().toString())
        text: str = self._metastore.txn.TxnCommonUtils.createValidReaderWriteIdList(
            write_ids
        ).writeToString()
        return text

    def write(self, table: Any, value: str) -> None:
        """Adds a partition with this value and notes the value in the table, in one transaction."""
        db, name = table.getDbName(), table.getTableName()
        txn = self.client.openTxn("hive")
        write_id: int = self.client.allocateTableWriteId(txn, db, name)
        own = self.lists(table)
        self.client.add_partition(self.partition(table, value, write_id))
        changed = self.read(table, None)
        changed.putToParameters("round", value)
        changed.setWriteId(write_id)
        self.client.alter_table(CATALOG, db, name, changed, None, own)
        self.client.commitTxn(txn)

    def partition(self, table: Any, value: str, write_id: int) -> Any:
        partition = self.api.Partition()
        partition.setCatName(CATALOG)
        partition.setDbName(table.getDbName())
        partition.setTableName(table.getTableName())
        partition.setValues([value])
        partition.setSd(table.getSd().deepCopy())
        partition.getSd().setLocation(f"{table.getSd().getLocation()}/ds={value}")
        partition.setParameters({})
        partition.setWriteId(write_id)
        return partition

    def read(self, table: Any, ids: str | None) -> Any:
        """The table, at this snapshot if one is given."""
        request = self.api.GetTableRequest(table.getDbName(), table.getTableName())
        request.setCatName(CATALOG)
        if ids is not None:
            request.setValidWriteIdList(ids)
            request.setId(table.getId())
        return self.client.getTable(request)

    def values_by(self, table: Any, expression: bytes) -> list[str]:
        """The values of the partitions that remain when Hive prunes by this expression."""
        request = self.api.PartitionsByExprRequest()
        request.setCatName(CATALOG)
        request.setDbName(table.getDbName())
        request.setTblName(table.getTableName())
        request.setExpr(expression)
        names = self._java.jvm.java.util.ArrayList()
        assert not self.client.listPartitionsSpecByExpr(request, names)
        shared = [one.getSharedSDPartitionSpec().getPartitions() for one in names]
        return [one.getValues()[0] for some in shared for one in some]

    def values(self, table: Any, ids: str | None) -> list[str]:
        """The values of all partitions of a table, read as Hive reads all of them."""
        request = self.api.GetPartitionsPsWithAuthRequest()
        request.setCatName(CATALOG)
        request.setDbName(table.getDbName())
        request.setTblName(table.getTableName())
        request.setMaxParts(-1)
        if ids is not None:
            request.setValidWriteIdList(ids)
            request.setId(table.getId())
        partitions = self.client.listPartitionsWithAuthInfoRequest(request).getPartitions()
        return [one.getValues()[0] for one in partitions]
