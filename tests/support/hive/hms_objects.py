"""Hive's structs, made with the fields that a client of a real metastore would fill in."""

import time
from collections.abc import Mapping, Sequence
from typing import Any

from tests.support.hive import idl

ORC = (
    "org.apache.hadoop.hive.ql.io.orc.OrcInputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcOutputFormat",
    "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
)

Columns = Mapping[str, str]
"""The types of columns by name, in order."""


def database(name: str, **fields: Any) -> Any:
    t = idl.load()
    defaults = {
        "description": "",
        "parameters": {},
        "ownerName": "hive",
        "ownerType": t.PrincipalType.USER,
        "catalogName": "hive",
        "type": t.DatabaseType.NATIVE,
    }
    return t.Database(name=name, **(defaults | fields))


def columns(types: Columns) -> list[Any]:
    t = idl.load()
    return [t.FieldSchema(name=name, type=type_, comment="") for name, type_ in types.items()]


def storage(types: Columns, location: str | None = None, **fields: Any) -> Any:
    t = idl.load()
    input_format, output_format, serde = ORC
    defaults = {
        "cols": columns(types),
        "location": location,
        "inputFormat": input_format,
        "outputFormat": output_format,
        "compressed": False,
        "numBuckets": -1,
        "serdeInfo": t.SerDeInfo(
            name="", serializationLib=serde, parameters={"serialization.format": "1"}
        ),
        "bucketCols": [],
        "sortCols": [],
        "parameters": {},
        "skewedInfo": t.SkewedInfo(
            skewedColNames=[], skewedColValues=[], skewedColValueLocationMaps={}
        ),
        "storedAsSubDirectories": False,
    }
    return t.StorageDescriptor(**(defaults | fields))


def table(
    database_name: str,
    name: str,
    types: Columns,
    keys: Columns | None = None,
    *,
    transactional: bool = True,
    parameters: Mapping[str, str] | None = None,
    **fields: Any,
) -> Any:
    """A transactional table, or an external one."""
    t = idl.load()
    kind = {"transactional": "true"} if transactional else {"EXTERNAL": "TRUE"}
    defaults = {
        "owner": "hive",
        "ownerType": t.PrincipalType.USER,
        "createTime": int(time.time()),
        "lastAccessTime": 0,
        "retention": 0,
        "sd": storage(types),
        "partitionKeys": columns(keys or {}),
        "parameters": {**kind, **(parameters or {})},
        "tableType": "MANAGED_TABLE" if transactional else "EXTERNAL_TABLE",
        "catName": "hive",
    }
    return t.Table(dbName=database_name, tableName=name, **(defaults | fields))


def partition(of: Any, values: Sequence[str], **fields: Any) -> Any:
    """A partition with the columns of a table that the metastore returned."""
    t = idl.load()
    types = {column.name: column.type for column in of.sd.cols}
    path = "/".join(
        f"{key.name}={value}" for key, value in zip(of.partitionKeys, values, strict=True)
    )
    defaults = {
        "values": list(values),
        "createTime": int(time.time()),
        "lastAccessTime": 0,
        "sd": storage(types, f"{of.sd.location}/{path}"),
        "parameters": {},
        "catName": of.catName,
    }
    return t.Partition(dbName=of.dbName, tableName=of.tableName, **(defaults | fields))


def statistics(of: Any, figures: Sequence[Any], partition: str | None) -> Any:
    """Column statistics of a partition, if it is named, or of the table."""
    t = idl.load()
    description = t.ColumnStatisticsDesc(
        isTblLevel=partition is None,
        dbName=of.dbName,
        tableName=of.tableName,
        partName=partition,
        catName="hive",
    )
    return t.ColumnStatistics(statsDesc=description, statsObj=list(figures), engine="hive")


def long_statistics(column: str, **figures: int) -> Any:
    """Statistics of a bigint column, from `numNulls`, `numDVs`, `lowValue` and `highValue`."""
    t = idl.load()
    data = t.LongColumnStatsData(**{"numNulls": 0, "numDVs": 1, **figures})
    return t.ColumnStatisticsObj(
        colName=column, colType="bigint", statsData=t.ColumnStatisticsData(longStats=data)
    )


def function(database_name: str, name: str, class_name: str) -> Any:
    t = idl.load()
    return t.Function(
        catName="hive",
        dbName=database_name,
        functionName=name,
        className=class_name,
        ownerName="hive",
        ownerType=t.PrincipalType.USER,
        createTime=int(time.time()),
        functionType=t.FunctionType.JAVA,
        resourceUris=[t.ResourceUri(resourceType=t.ResourceType.JAR, uri="file:/x.jar")],
    )
