"""What a call asks for: a read, and the snapshot that the answer must fit."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from hive.errors import InputError
from hive.names import TableName, is_storable
from hive.write_ids.lists import WriteIdList
from hive.write_ids.text import TxnWriteIdLists, parse
from query_api.reads.read import Read
from query_api.requirement import WRITE_IDS_CHARS_MAX
from query_api.thrift.call import RelayReason
from query_api.thrift.methods.outcome import Outcome

Arguments = Mapping[str, Any]


class CacheRequest(NamedTuple):
    """A parsed call."""

    read: Read[Outcome]
    write_ids: WriteIdList | None = None
    """The table's write-id list, if the request also has the table's id."""
    table_id: int = 0


Understood = CacheRequest | RelayReason


def snapshot(text: str | None, table: TableName) -> WriteIdList | None:
    """The write-id list of a request, even one without exceptions; None if there is none. An
    empty text is a list, to the metastore too."""
    if text is None:
        return None
    if len(text) > WRITE_IDS_CHARS_MAX:
        raise InputError(f"a write-id list of more than {WRITE_IDS_CHARS_MAX} characters")
    write_ids = parse(text)
    if isinstance(write_ids, TxnWriteIdLists):
        raise InputError(f"lists of several tables where the one of {table} is expected")
    if write_ids.table is not None and write_ids.table.lower() not in (
        table.in_catalog,
        str(table),
    ):
        raise InputError(f"a list of {write_ids.table[:80]!r} where {table} is read")
    return write_ids


def at_snapshot(read: Read[Outcome], ids: WriteIdList | None, table_id: int | None) -> CacheRequest:
    """The read at a snapshot. A write-id list counts only if it is a snapshot and comes with the id
    of its table.
    """
    if ids is None or not ids.is_snapshot or not table_id or table_id < 0:
        return CacheRequest(read)
    return CacheRequest(read, ids, table_id)


def of_request(
    read: Read[Outcome], request: Arguments, table: TableName, id_field: str = "id"
) -> CacheRequest:
    """The read at the snapshot of a newer call."""
    ids = snapshot(request.get("validWriteIdList"), table)
    return at_snapshot(read, ids, request.get(id_field))


def limit(arguments: Arguments, field: str = "max_parts") -> int | None:
    """The limit on results; None for a negative number, which means all."""
    most: int = arguments.get(field, -1)
    return None if most < 0 else most


def refuse_set(request: Arguments, *fields: str) -> None:
    """Refuses a request that has any of these fields, even an empty one."""
    for name in fields:
        if name in request:
            raise InputError(f"a request with {name}")


def refuse_unknown(request: Arguments, *fields: str) -> None:
    """Refuses a request that has any of these fields, fields of unknown meaning, or a text that no
    database can hold, on which the metastore fails.
    """
    for name, value in request.items():
        if name.startswith("#") or (name in fields and value not in (None, "", False, [], {})):
            raise InputError(f"a request with {name}")
        text = value
        if isinstance(value, list):
            text = "".join(value) if value and isinstance(value[0], str) else None
        if isinstance(text, str) and not is_storable(text):
            raise InputError(f"a request with {name} that no database can hold")
