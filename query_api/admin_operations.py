"""The administrators' operations for the OpenAPI document: orders and audits."""

from typing import Any, Final

from hive.names import parse_table_name
from query_api import admin
from query_api.audit import routes as audits
from query_api.audit.findings import Audited, Field, ObjectDifference
from query_api.http.operation import Access, Operation
from query_api.positions import Position
from state.records import Scope, ScopeKind

_ORDERED: Final = {"tables": ["sales.orders"]}
_SCOPE: Final = Scope(ScopeKind.TABLE, parse_table_name("sales.orders"))


def _order(name: str, summary: str, body: Any, example: Any) -> Operation:
    return Operation(
        f"admin{name.capitalize()}",
        "post",
        f"{admin.PATH}/{name}",
        summary,
        admin.Sent,
        admin.Sent(1),
        Access.ADMINISTRATORS,
        body,
        example,
        fails=("500",),
    )


ORDERS: Final = (
    Operation(
        "admin",
        "get",
        admin.PATH,
        "The orders that the shards of this worker have applied",
        list[admin.ShardOrders],
        [admin.ShardOrders(0, False, (), ("tmp.*",))],
        Access.ADMINISTRATORS,
    ),
    _order("warm", "Load tables, if they aren't in the cache", admin.Tables, _ORDERED),
    _order("refresh", "Drop tables and load them again", admin.Tables, _ORDERED),
    _order("drop", "Drop tables until somebody reads them", admin.Tables, _ORDERED),
    _order("pause", "Stop answering from the cache", admin.Nothing, {}),
    _order("resume", "Answer from the cache again", admin.Nothing, {}),
    _order(
        "lists",
        "Replace the lists of cached tables",
        admin.Lists,
        {"whitelist": ["sales.*"], "blacklist": ["sales.tmp*"]},
    ),
)

AUDITS: Final = (
    Operation(
        "adminAuditDraw",
        "get",
        audits.PATH,
        "Draw a sample of what this worker can compare with the database",
        audits.Drawn,
        audits.Drawn(250, [_SCOPE]),
        Access.ADMINISTRATORS,
        query=(
            ("sample", "The maximum number.", 100),
            ("seed", "The same seed gives the same sample.", 0),
        ),
    ),
    Operation(
        "adminAudit",
        "post",
        audits.PATH,
        "Compare the cache with the database, field by field",
        list[Audited],
        [
            Audited(
                _SCOPE,
                Position(0, 1234),
                31,
                1,
                [ObjectDifference("table", [Field("owner", "ann", "bob")])],
                {"statistics": "cold"},
            )
        ],
        Access.ADMINISTRATORS,
        audits.Wanted,
        audits.Wanted([_SCOPE]),
        fails=("503",),
    ),
)
