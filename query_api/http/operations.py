"""Paths beside the reads, for the OpenAPI document: orders, audits, and what the page asks for."""

from dataclasses import dataclass
from typing import Any, Final

import msgspec

from hive.names import parse_table_name
from query_api import admin
from query_api.audit import routes as audits
from query_api.audit.findings import Audited, Difference, Field
from query_api.http.page import events, held, overview
from query_api.http.page.around import Answered
from query_api.http.page.counts import TableCounts
from query_api.positions import Position
from state.records import Scope, ScopeKind

REF: Final = "#/components/schemas/{name}"
_ORDERED: Final = {"tables": ["sales.orders"]}
_ORDERS: Final = {
    "warm": "Load tables, if they aren't in the cache",
    "refresh": "Forget tables and load them anew",
    "drop": "Forget tables until somebody reads them",
}
_ORDERED_TABLE: Final = Scope(ScopeKind.TABLE, parse_table_name("sales.orders"))
_SERVER_STATUS: Final = {"name": "worker-1", "ready": True, "shards": []}


@dataclass(frozen=True)
class Operation:
    """One path and method, with an example of each side."""

    id: str
    method: str
    path: str
    summary: str
    answer: Any
    answers: Any
    """An example."""
    body: Any = None
    given: Any = None
    """An example."""
    query: tuple[tuple[str, str, int], ...] = ()
    """Parameters, all of them whole numbers: name, what it is, example."""

    @property
    def is_for_administrators(self) -> bool:
        return self.path.startswith(admin.PATH)


def _order(name: str, summary: str, body: Any, given: Any) -> Operation:
    path = f"{admin.PATH}/{name}"
    return Operation(
        f"admin{name.capitalize()}", "post", path, summary, admin.Sent, admin.Sent(1), body, given
    )


OPERATIONS: Final = (
    Operation(
        "admin",
        "get",
        admin.PATH,
        "What the shards of this worker have heard of",
        list[admin.ShardOrders],
        [admin.ShardOrders(0, False, (), ("tmp.*",))],
    ),
    *(_order(name, summary, admin.Tables, _ORDERED) for name, summary in _ORDERS.items()),
    _order("pause", "Let the database answer everything", admin.Nothing, {}),
    _order("resume", "Let the cache answer again", admin.Nothing, {}),
    _order(
        "lists",
        "Which tables are cached, in place of what was said before",
        admin.Lists,
        {"whitelist": ["sales.*"], "blacklist": ["sales.tmp*"]},
    ),
    Operation(
        "adminAuditDraw",
        "get",
        audits.PATH,
        "Draw from what this worker can compare with the database",
        audits.Drawn,
        audits.Drawn(250, [_ORDERED_TABLE]),
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
                _ORDERED_TABLE,
                Position(0, 1234),
                31,
                1,
                [Difference("table", [Field("owner", "ann", "bob")])],
                {"statistics": "cold"},
            )
        ],
        audits.Wanted,
        audits.Wanted([_ORDERED_TABLE]),
    ),
    Operation(
        "overview",
        "get",
        overview.PATH,
        "All workers of the group: shards, warm and cold tables, answers by reason",
        overview.Overview,
        overview.Overview(
            16,
            "0:1234",
            1234,
            [
                overview.WorkerPart(
                    "",
                    None,
                    _SERVER_STATUS,
                    [Answered("http", "cache", "fresh", 812)],
                    [
                        overview.ShardPart(
                            0, "0:1234", False, TableCounts(96, {"doubt: renamed": 1}, 12)
                        )
                    ],
                )
            ],
        ),
    ),
    Operation(
        "held",
        "post",
        held.PATH,
        "Whether tables are in the cache; asked without reading them, so nothing is loaded for it",
        held.HeldTables,
        held.HeldTables([held.Held("hive.sales.orders", False, "cold", "never_loaded", "")]),
        held.Asked,
        {"tables": ["sales.orders"]},
    ),
    Operation(
        "events",
        "get",
        events.PATH,
        "The last events of the metastore, the newest first, without their messages",
        events.Events,
        events.Events([events.Event(1234, 1767225600, "ALTER_TABLE", "hive", "sales", "orders")]),
        query=(("limit", f"How many at most, up to {events.COUNT_MAX}.", 50),),
    ),
)


def described(problems: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """The paths with their operations; `problems` are those that may be answered, by status."""
    paths: dict[str, dict[str, Any]] = {}
    for one in OPERATIONS:
        refusal = "403" if one.is_for_administrators else "401"
        statuses = ["400", refusal, *(["413"] if one.body else []), "503"]
        operation: dict[str, Any] = {
            "operationId": one.id,
            "summary": one.summary,
            "parameters": [_parameter(*given) for given in one.query],
            "responses": {
                "200": {"description": "The answer", "content": _content(one.answer, one.answers)},
                **{status: problems[status] for status in statuses},
            },
        }
        if one.body is not None:
            operation["requestBody"] = {"required": True, "content": _content(one.body, one.given)}
        paths.setdefault(one.path, {})[one.method] = operation
    return paths


def schemas() -> dict[str, Any]:
    """The structs of these paths."""
    kinds = [kind for one in OPERATIONS for kind in (one.answer, one.body) if kind is not None]
    return msgspec.json.schema_components(kinds, ref_template=REF)[1]


def _content(kind: Any, example: Any) -> dict[str, Any]:
    [schema], _ = msgspec.json.schema_components([kind], ref_template=REF)
    # As JSON has it, which knows no tuples.
    told = msgspec.json.decode(msgspec.json.encode(example))
    return {"application/json": {"schema": schema, "example": told}}


def _parameter(name: str, description: str, example: int) -> dict[str, Any]:
    schema = {"type": "integer", "minimum": 0}
    return {
        "name": name,
        "in": "query",
        "description": description,
        "schema": schema,
        "example": example,
    }
