"""Everything that a metastore answers, in the shape of tests/data/hive-*/…/state.json."""

from typing import Any

from tests.support.hive.hms_client import HmsClient
from tests.support.hive.idl import plain

_CONSTRAINTS = {
    "primaryKeys": "primary_keys",
    "foreignKeys": "foreign_keys",
    "uniqueConstraints": "unique",
    "notNullConstraints": "not_null",
    "defaultConstraints": "default",
    "checkConstraints": "check",
}


def state(client: HmsClient) -> dict[str, Any]:
    """The default catalog. It is read by many calls, so it is consistent only if nobody writes
    meanwhile.
    """
    answer: dict[str, Any] = {
        "event_id": client.position(),
        "databases": {},
        "tables": {},
        "partitions": {},
        "table_statistics": {},
        "partition_statistics": {},
        "constraints": {},
        "functions": {},
        "valid_write_ids": {},
    }
    for database in client.rpc.get_all_databases():
        answer["databases"][database] = plain(client.rpc.get_database(database))
        for table in client.rpc.get_all_tables(database):
            for kind, value in _table(client, database, table).items():
                if value:
                    answer[kind][f"{database}.{table}"] = value
    for function in client.rpc.get_all_functions().functions or []:
        answer["functions"][f"{function.dbName}.{function.functionName}"] = plain(function)
    return answer


def _table(client: HmsClient, database: str, name: str) -> dict[str, Any]:
    table = client.table(database, name)
    columns = [column.name for column in table.sd.cols]
    tables = {
        "tables": plain(table),
        "table_statistics": _table_statistics(client, table, columns),
        "constraints": _constraints(client, table),
        "valid_write_ids": client.valid_write_ids(database, name),
    }
    if table.partitionKeys:
        names = list(client.rpc.get_partition_names(database, name, -1))
        parts = client.partitions(database, name)
        tables["partitions"] = dict(zip(names, plain(parts), strict=True))
        tables["partition_statistics"] = _partition_statistics(client, table, columns, names)
    return tables


def _table_statistics(client: HmsClient, table: Any, columns: list[str]) -> Any:
    request = client.t.TableStatsRequest(
        catName="hive", dbName=table.dbName, tblName=table.tableName, colNames=columns
    )
    return plain(client.rpc.get_table_statistics_req(request).tableStats)


def _partition_statistics(
    client: HmsClient, table: Any, columns: list[str], names: list[str]
) -> Any:
    request = client.t.PartitionsStatsRequest(
        catName="hive",
        dbName=table.dbName,
        tblName=table.tableName,
        colNames=columns,
        partNames=names,
    )
    return plain(client.rpc.get_partitions_statistics_req(request).partStats)


def _constraints(client: HmsClient, table: Any) -> dict[str, Any]:
    request = client.t.AllTableConstraintsRequest(
        catName="hive", dbName=table.dbName, tblName=table.tableName
    )
    answer = client.rpc.get_all_table_constraints(request).allTableConstraints
    return {
        name: plain(found)
        for field, name in _CONSTRAINTS.items()
        if (found := getattr(answer, field))
    }
