"""What a call asks for: a read, and the snapshot that its answer must fit."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hive.errors import InputError
from hive.names import TableName
from hive.write_ids.lists import WriteIdList
from hive.write_ids.text import TxnWriteIdLists, parse
from query_api.reads.read import Read
from query_api.thrift.call import Unable
from query_api.thrift.methods.outcome import Outcome

Arguments = Mapping[str, Any]


class CacheRequest(NamedTuple):
    """A call as the cache understands it."""

    read: Read[Outcome]
    write_ids: WriteIdList | None = None
    """Of the table that it reads, where the request also knows the table's id."""
    table_id: int = 0


Understood = CacheRequest | Unable


def snapshot(text: str | None, table: TableName) -> WriteIdList | None:
    """The list of a request; None where it has none. A list that holds nothing back is one, too."""
    if not text:
        return None
    found = parse(text)
    if isinstance(found, TxnWriteIdLists):
        raise InputError(f"lists of several tables where the one of {table} is expected")
    if found.table is not None and found.table.lower() not in (table.in_catalog, str(table)):
        raise InputError(f"a list of {found.table[:80]!r} where {table} is read")
    return found


def at_snapshot(read: Read[Outcome], ids: WriteIdList | None, table_id: int | None) -> CacheRequest:
    """A list counts where it is a snapshot, and with the id of the table it was made for."""
    if ids is None or not ids.is_snapshot or not table_id or table_id < 0:
        return CacheRequest(read)
    return CacheRequest(read, ids, table_id)


def of_request(
    read: Read[Outcome], request: Arguments, table: TableName, id_field: str = "id"
) -> CacheRequest:
    """The read at the snapshot of a newer call."""
    ids = snapshot(request.get("validWriteIdList"), table)
    return at_snapshot(read, ids, request.get(id_field))


def limit(given: Arguments, field: str = "max_parts") -> int | None:
    """How many at most; a negative number means all."""
    most: int = given.get(field, -1)
    return None if most < 0 else most


def refuse_unknown(request: Arguments, *fields: str) -> None:
    """What a field that isn't described here asks for, nobody knows; nor may these be there."""
    for name, value in request.items():
        if name.startswith("#") or (name in fields and value not in (None, "", False, [], {})):
            raise InputError(f"a request with {name}")
