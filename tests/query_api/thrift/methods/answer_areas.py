"""What an answer says that it tells of, compared with the tables that the call and the answer
name.
"""

from collections.abc import Iterator
from typing import Any, Final

from thriftpy2.utils import deserialize

from query_api.authorization.areas import areas_of
from query_api.thrift.call import CallAnswer
from tests.query_api.thrift.methods.wire import struct_of
from tests.support.hive import idl

_DATABASE: Final = {"dbname", "databasename"}
_TABLE: Final = {"tblname", "tablename"}
UNGUARDED: Final = frozenset(
    (
        *("get_current_notificationEventId", "get_open_txns", "get_open_txns_info"),
        *("get_open_txns_req", "get_valid_write_ids"),
    )
)
"""They tell of nothing that a metastore's authorization guards."""
UNKNOWN: Final = frozenset(
    (
        *("list_privileges", "get_role_names", "get_role_grants_for_principal"),
        *("get_principals_in_role", "get_functions", "get_function", "get_all_functions"),
    )
)


def check_areas(method: str, arguments: bytes, value: Any, answer: CallAnswer) -> None:
    """Raises AssertionError if the call or the answer names a table, or the answer names of any
    kind, that aren't among what the answer says that it tells of.
    """
    if method in UNKNOWN:
        assert answer.targets is None
        return
    assert answer.targets is not None, method
    areas = areas_of(answer.targets)
    assert bool(areas) == (method not in UNGUARDED), (method, areas)
    if not areas or any(not area.db for area in areas):
        return
    request = idl.plain(deserialize(struct_of(f"{method}_args")(), arguments))
    for db, table in {*_tables(request), *_tables(value)}:
        names = {(area.db, area.table) for area in areas}
        assert (db.lower(), table.lower()) in names or any(
            area.db == db.lower() and area.is_list for area in areas
        ), (method, db, table, areas)
    if method in ("get_tables", "get_tables_by_type", "get_all_tables"):
        assert any(area.is_list for area in areas)


def _tables(value: Any) -> Iterator[tuple[str, str]]:
    """The tables that a struct names, in whatever depth."""
    if isinstance(value, dict):
        names = {str(key).lower().replace("_", ""): item for key, item in value.items()}
        db = next((names[key] for key in _DATABASE & names.keys()), None)
        table = next((names[key] for key in _TABLE & names.keys()), None)
        if isinstance(db, str) and isinstance(table, str) and db and table:
            yield db.rpartition("#")[2], table
        value = list(value.values())
    if isinstance(value, list):
        for item in value:
            yield from _tables(item)
