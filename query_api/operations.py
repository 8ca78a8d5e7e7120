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


def _order(name: str, summary: str, body: Any, given: Any) -> Operation:
    return Operation(
        f"admin{name.capitalize()}",
        "post",
        f"{admin.PATH}/{name}",
        summary,
        admin.Sent,
        admin.Sent(1),
        Access.ADMINISTRATORS,
        body,
        given,
        fails=("500",),
    )


ORDERS: Final = (
    Operation(
        "admin",
        "get",
        admin.PATH,
        "What the shards of this worker have heard of",
        list[admin.ShardOrders],
        [admin.ShardOrders(0, False, (), ("tmp.*",))],
        Access.ADMINISTRATORS,
    ),
    _order("warm", "Load tables, if they aren't in the cache", admin.Tables, _ORDERED),
    _order("refresh", "Forget tables and load them anew", admin.Tables, _ORDERED),
    _order("drop", "Forget tables until somebody reads them", admin.Tables, _ORDERED),
    _order("pause", "Let the database answer everything", admin.Nothing, {}),
    _order("resume", "Let the cache answer again", admin.Nothing, {}),
    _order(
        "lists",
        "Which tables are cached, in place of what was said before",
        admin.Lists,
        {"whitelist": ["sales.*"], "blacklist": ["sales.tmp*"]},
    ),
)

AUDITS: Final = (
    Operation(
        "adminAuditDraw",
        "get",
        audits.PATH,
        "Draw from what this worker can compare with the database",
        audits.Drawn,
        audits.Drawn(250, [_SCOPE]),
        Access.ADMINISTRATORS,
        query=(
            ("sample", "How many at most.", 100),
            ("seed", "The same ones for the same seed.", 0),
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
