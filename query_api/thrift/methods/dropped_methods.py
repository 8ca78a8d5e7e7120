"""Translates methods that Hive 4 dropped into calls of their successors."""

from collections.abc import Callable
from typing import Final, NamedTuple

from hive.thrift import requests
from hive.thrift.binary import decode, encode
from hive.thrift.types import LIST, STRUCT, Struct, string, strings
from hive.thrift.view import View
from hive.thrift.wire import FIELD
from query_api.thrift.call import Call, Substitute
from query_api.thrift.methods import names
from query_api.thrift.methods.request import Arguments, refuse_unknown


class _Successor(NamedTuple):
    method: str
    request: Struct
    old: Struct
    translated: Callable[[Arguments], Arguments]
    code: int
    """The type of the old result's field, which replaces the first field of the new answer."""


def _one(arguments: Arguments) -> Arguments:
    return {**_place(arguments), "tblName": arguments.get("tbl_name")}


def _several(arguments: Arguments) -> Arguments:
    return {**_place(arguments), "tblNames": arguments.get("tbl_names")}


def _place(arguments: Arguments) -> Arguments:
    """A database's catalog and name. Without a catalog, the metastore applies its default."""
    text = arguments.get("db_name")
    catalog, db = names.split(text)
    named = text is not None and text.startswith("@")
    return {"catName": catalog, "dbName": db} if named else {"dbName": db}


_SUCCESSORS: Final = {
    "get_table": _Successor(
        "get_table_req",
        requests.GET_TABLE,
        Struct("get_table", (1, "db_name", string), (2, "tbl_name", string)),
        _one,
        STRUCT,
    ),
    "get_table_objects_by_name": _Successor(
        "get_table_objects_by_name_req",
        requests.GET_TABLES,
        Struct("get_table_objects_by_name", (1, "db_name", string), (2, "tbl_names", strings)),
        _several,
        LIST,
    ),
}


DROPPED: Final = _SUCCESSORS.keys()


def substitute(call: Call) -> Substitute | None:
    """The call to make in place of one whose method the metastore may have dropped."""
    successor = _SUCCESSORS.get(call.method)
    if successor is None:
        return None
    arguments = decode(successor.old, call.arguments)
    refuse_unknown(arguments)
    request = encode(successor.request, successor.translated(arguments))
    new_arguments = FIELD.pack(STRUCT, 1) + request + b"\0"

    def translated(result: bytes) -> bytes:
        answer = View(result).struct(0)
        first = None if answer is None else answer.raw(1)
        # An exception has the same field number in both results.
        return result if first is None else FIELD.pack(successor.code, 0) + first + b"\0"

    return Substitute(successor.method, new_arguments, translated)
