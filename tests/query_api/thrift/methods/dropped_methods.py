"""Methods of Hive 3 that the definition no longer has."""

from typing import Any

from hive.thrift.binary import decode
from hive.thrift.structs import TABLE
from hive.thrift.types import ListOf, Struct, string, strings

DROPPED = {"get_table", "get_table_objects_by_name"}
_RAISED = Struct("Raised", (1, "message", string))
_EXCEPTIONS = ((1, "o1", _RAISED), (2, "o2", _RAISED), (3, "o3", _RAISED))
ONE = Struct("get_table_args", (1, "db_name", string), (2, "tbl_name", string))
SEVERAL = Struct("get_table_objects_by_name_args", (1, "db_name", string), (2, "names", strings))
RESULTS = {
    "get_table": Struct("get_table_result", (0, "success", TABLE), *_EXCEPTIONS),
    "get_table_objects_by_name": Struct("result", (0, "success", ListOf(TABLE)), *_EXCEPTIONS),
}


def decoded(method: str, result: bytes) -> Any:
    """With what the definition says of a field that isn't there."""
    plain_result = decode(RESULTS[method], result)
    tables = plain_result.pop("success", ())
    tables = [tables] if isinstance(tables, dict) else tables
    whole = [{"temporary": False, **one} for one in tables]
    return plain_result, sorted(whole, key=lambda one: str(one["tableName"]))
