"""Calls that give the columns of a table."""

from typing import Final

from hive.names import TableName
from query_api.objects import Objects
from query_api.thrift.call import RelayReason
from query_api.thrift.methods import names
from query_api.thrift.methods.outcome import Outcome, Raised
from query_api.thrift.methods.request import (
    Arguments,
    CacheRequest,
    Understood,
    of_request,
    refuse_unknown,
)
from query_api.thrift.methods.table_method import TableAlone
from query_api.thrift.methods.table_traits import columns, columns_and_keys, library

_IN_THE_METASTORE: Final = frozenset(
    (
        "org.apache.hadoop.hive.ql.io.orc.OrcSerde",
        "org.apache.hadoop.hive.ql.io.parquet.serde.ParquetHiveSerDe",
        "org.apache.hadoop.hive.serde2.MetadataTypedColumnsetSerDe",
        "org.apache.hadoop.hive.serde2.OpenCSVSerde",
        "org.apache.hadoop.hive.serde2.columnar.ColumnarSerDe",
        "org.apache.hadoop.hive.serde2.columnar.LazyBinaryColumnarSerDe",
        "org.apache.hadoop.hive.serde2.lazy.LazySimpleSerDe",
        "org.apache.hadoop.hive.serde2.lazybinary.LazyBinarySerDe",
        "org.apache.iceberg.mr.hive.HiveIcebergSerDe",
    )
)
"""Serdes whose columns are those stored in the metastore, by its own defaults."""


class Columns(TableAlone, frozen=True, kw_only=True):
    """The columns of a table, with or without the partition keys."""

    with_keys: bool

    def of(self, table: bytes, objects: Objects) -> Outcome:
        serde = library(table)
        if serde is not None and serde not in _IN_THE_METASTORE:
            return RelayReason.FORM
        return columns_and_keys(table) if self.with_keys else columns(table)


def get_fields(arguments: Arguments) -> Understood:
    return _old(arguments, with_keys=False)


def get_schema(arguments: Arguments) -> Understood:
    return _old(arguments, with_keys=True)


def get_fields_req(arguments: Arguments) -> Understood:
    return _new(arguments, with_keys=False)


def get_schema_req(arguments: Arguments) -> Understood:
    return _new(arguments, with_keys=True)


def _old(arguments: Arguments, *, with_keys: bool) -> Understood:
    refuse_unknown(arguments, "environment_context")
    return CacheRequest(_columns(names.table(arguments), with_keys=with_keys))


def _new(arguments: Arguments, *, with_keys: bool) -> Understood:
    request = arguments["req"]
    refuse_unknown(request, "envContext")
    table = names.table_in_catalog(request)
    return of_request(_columns(table, with_keys=with_keys), request, table)


def _columns(table: TableName, *, with_keys: bool) -> Columns:
    missing = Raised("UnknownTableException", f"{table} table not found")
    return Columns(table, missing=missing, with_keys=with_keys)
