"""A database of a real metastore with a cache of it, and those who write to it."""

import copy
import itertools
from collections.abc import Callable
from typing import Any

from hive.names import table_name
from hive.thrift.binary import decode
from hive.thrift.structs import TABLE
from query_api.audit import AuditResult
from query_api.audit.scopes import known_scopes
from query_api.shards import Views
from query_api.targets import Target, TargetKind
from tests.query_api.audit.shard_audits import audited, differences
from tests.query_api.thrift.methods import caches
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.metastore import Instances

TYPES = {"id": "bigint", "name": "string"}
KEYS = {"ds": "string"}
_numbers = itertools.count(1)


class World:
    """A database of its own, and a cache of it."""

    def __init__(self, metastore: Instances, client: HmsClient, cache: caches.Cache) -> None:
        self.metastore, self.client, self.cache = metastore, client, cache
        self.db = f"overlaps_{next(_numbers)}"
        client.create_database(self.db)

    def table(self, name: str, *values: str, **fields: Any) -> Any:
        keys = KEYS if values else {}
        new = objects.table(self.db, name, TYPES, keys, **{"transactional": False, **fields})
        table = self.client.create_table(new)
        if values:
            self.client.add_partitions(table, [[value] for value in values])
        return table

    def load(self) -> None:
        self.cache.load()
        assert self._audit(), "nothing is known of the database"

    def check(self) -> None:
        """What is served is right at once; and all of it is served when asks were answered."""
        self.cache.follow()
        self._audit()
        self.cache.answer()
        self.cache.answer()
        cold = [(one.scope, one.left_out) for one in self._audit() if one.left_out]
        assert not cold

    def _audit(self) -> list[AuditResult]:
        scopes = [
            scope
            for scope in known_scopes(Views(self.cache.source))
            if scope.name.db.startswith(self.db) or not scope.name.db
        ]
        audits = audited(self.metastore.database_url, self.cache.source, scopes)
        assert differences(audits) == []
        return audits

    def cached_write_id(self, name: str) -> int:
        """The write id in the cache's copy of a table, which an audit doesn't compare."""
        views, table = Views(self.cache.source), table_name(None, self.db, name)
        reader = views.reader(views.shard_of(Target(TargetKind.TABLE, table)))
        entry = None if reader is None else reader.table(table)
        assert entry is not None
        return int(decode(TABLE, entry.data)["writeId"])


def set_parameter(table: Any, key: str) -> Callable[[HmsClient], None]:
    def write(client: HmsClient) -> None:
        table.parameters = {**table.parameters, key: "new"}
        client.alter_table(table.dbName, table.tableName, table)

    return write


def set_partition_parameter(table: Any, partition: Any, key: str) -> Callable[[HmsClient], None]:
    """By ALTER_PARTITION, whose event has the partition before it."""

    def write(client: HmsClient) -> None:
        partition.parameters = {**partition.parameters, key: "new"}
        client.rpc.alter_partition(table.dbName, table.tableName, partition)

    return write


def set_partitions_parameter(table: Any, partition: Any, key: str) -> Callable[[HmsClient], None]:
    """By ALTER_PARTITIONS."""

    def write(client: HmsClient) -> None:
        partition.parameters = {**partition.parameters, key: "new"}
        client.alter_partitions(table, [partition])

    return write


def rename_partition(table: Any, partition: Any, value: str) -> Callable[[HmsClient], None]:
    def write(client: HmsClient) -> None:
        renamed = copy.deepcopy(partition)
        renamed.values = [value]
        client.rename_partition(table, list(partition.values), renamed)

    return write


def truncate(table: Any, *names: str) -> Callable[[HmsClient], None]:
    def write(client: HmsClient) -> None:
        request = client.t.TruncateTableRequest(
            dbName=table.dbName, tableName=table.tableName, partNames=list(names) or None
        )
        client.rpc.truncate_table_req(request)

    return write


def partition_of(client: HmsClient, table: Any) -> Any:
    [partition, *_] = client.partitions(table.dbName, table.tableName)
    return partition


class Writer:
    """A transaction with a write id, and the list of those that it may read."""

    def __init__(self, client: HmsClient, table: Any) -> None:
        self.client = client
        self.txn = client.open_transaction()
        self.write_id = client.allocate_write_id(self.txn, table.dbName, table.tableName)
        self.ids = client.valid_write_ids(
            table.dbName, table.tableName, client.valid_transactions(self.txn)
        )

    def insert(self, table: Any, rows: int) -> None:
        """As Hive does at the end of an INSERT: with the number of rows, which it believes."""
        table.parameters = {
            **table.parameters,
            "numRows": str(rows),
            "COLUMN_STATS_ACCURATE": '{"BASIC_STATS":"true"}',
        }
        table.writeId = self.write_id
        self.client.alter_table(
            table.dbName,
            table.tableName,
            table,
            write_id=self.write_id,
            valid_write_ids=self.ids,
        )

    def set_statistics(self, table: Any, *, merges: bool) -> None:
        """As Hive does after that."""
        t = self.client.t
        description = t.ColumnStatisticsDesc(
            isTblLevel=True, dbName=table.dbName, tableName=table.tableName, catName="hive"
        )
        statistics = t.ColumnStatistics(
            statsDesc=description, statsObj=[objects.long_statistics("id")], engine="hive"
        )
        request = t.SetPartitionsStatsRequest(colStats=[statistics], needMerge=merges)
        request.writeId, request.validWriteIdList = self.write_id, self.ids
        self.client.rpc.set_aggr_stats_for(request)

    def alter(self, table: Any, partition: Any, parameter: str) -> None:
        """By ALTER_PARTITIONS, under the write id."""
        partition.parameters = {**partition.parameters, parameter: "new"}
        partition.writeId = self.write_id
        self.client.alter_partitions(
            table, [partition], write_id=self.write_id, valid_write_ids=self.ids
        )
