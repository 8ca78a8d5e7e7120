"""Calls over Thrift: how clients ask, and what a metastore answers."""

from typing import Any, Final, NamedTuple

from hive.thrift.binary import decode, encode
from hive.thrift.types import Struct, i64, string
from hive.write_ids.text import print_write_id_list
from query_api.objects import Objects
from query_api.reads.databases import GetDatabase
from query_api.reads.partitions import GetPartition, ListPartitions
from query_api.reads.read import Read
from query_api.reads.tables import GetTable, ListTables
from query_api.requirement import Requirement
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.method_table import methods
from query_api.thrift.methods.outcome import Raised, result

WAREHOUSE: Final = "file:/w"
WRITE: Final = "alter_table"
"""The method by which clients have a metastore write; its name says that it changes something."""
_METHODS: Final = methods(WAREHOUSE)
_WRITE: Final = Struct("write_args", (1, "kind", string), (2, "picks", string))
_WRITTEN: Final = Struct("write_result", (0, "moment", i64))


class ThriftCall(NamedTuple):
    method: str
    arguments: bytes


def call_of(read: Read[Any], requirement: Requirement) -> ThriftCall:
    """The call for a read."""
    match read:
        case GetTable(table):
            ids = requirement.write_ids
            request = {"dbName": table.db, "tblName": table.table, "catName": table.catalog}
            if ids is None:
                return _call("get_table_req", req=request)
            snapshot = {"validWriteIdList": print_write_id_list(ids), "id": requirement.table_id}
            return _call("get_table_req", req={**request, **snapshot})
        case ListPartitions(table):
            return _call("get_partitions", db_name=table.db, tbl_name=table.table, max_parts=-1)
        case GetPartition(table, _, values):
            of_table = {"db_name": table.db, "tbl_name": table.table}
            return _call("get_partition", **of_table, part_vals=list(values))
        case ListTables(db):
            return _call("get_all_tables", db_name=db.db)
        case GetDatabase(db):
            return _call("get_database", name=db.db)
        case _:
            raise AssertionError(f"no call for {read}")


def _call(method: str, **arguments: Any) -> ThriftCall:
    return ThriftCall(method, encode(_METHODS[method].arguments, arguments))


def result_of(call: ThriftCall, objects: Objects) -> bytes:
    """The result struct with which a metastore answers, from the objects of one moment."""
    method = _METHODS[call.method]
    understood = method.understand(decode(method.arguments, call.arguments))
    assert not isinstance(understood, RelayReason), f"{call} is for metastores alone"
    outcome: Any = understood.read
    while isinstance(outcome, Read):
        outcome = outcome.answer(objects)
    if isinstance(outcome, RelayReason):
        outcome = Raised(method.exceptions[0], "as only a metastore words it")
    data: Any = result(method.shape, method.exceptions, outcome)
    return data if isinstance(data, bytes) else b"".join(data)


def write_arguments(kind: str, picks: tuple[int, ...]) -> bytes:
    return encode(_WRITE, {"kind": kind, "picks": " ".join(map(str, picks))})


def write_of(arguments: bytes) -> tuple[str, tuple[int, ...]]:
    """What is to be written by a call with these arguments."""
    fields = decode(_WRITE, arguments)
    return fields["kind"], tuple(map(int, fields["picks"].split()))


def written(moment: int | None) -> bytes:
    """The result struct of a write: the number of the moment since which the database has it, or
    nothing if there was nothing to do."""
    return encode(_WRITTEN, {} if moment is None else {"moment": moment})


def moment_of(result: bytes) -> int | None:
    moment: int | None = decode(_WRITTEN, result).get("moment")
    return moment
