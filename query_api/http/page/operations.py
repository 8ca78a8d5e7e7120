"""The operations that the page uses, for the OpenAPI document."""

from typing import Final

from query_api.http.operation import Operation
from query_api.http.page import cached_tables, events, overview
from query_api.http.page.process_info import Answered
from query_api.http.page.table_counts import TableCounts

_STATUS: Final = {"name": "worker-1", "ready": True, "shards": []}
_SHARD: Final = overview.ShardPart(0, "0:1234", False, TableCounts(96, {"doubt: renamed": 1}, 12))
_WORKER: Final = overview.WorkerPart(
    "", None, _STATUS, [Answered("http", "cache", "fresh", 812)], [_SHARD]
)

OPERATIONS: Final = (
    Operation(
        "overview",
        "get",
        overview.PATH,
        "All workers of the group: shards, warm and cold tables, answers by reason",
        overview.Overview,
        overview.Overview(16, "0:1234", 1234, [_WORKER]),
    ),
    Operation(
        "held",
        "post",
        cached_tables.PATH,
        "Whether tables are in the cache; they aren't read, so nothing is loaded",
        cached_tables.HeldTables,
        cached_tables.HeldTables(
            [cached_tables.Held("hive.sales.orders", False, "cold", "never_loaded", "")]
        ),
        body=cached_tables.Asked,
        given={"tables": ["sales.orders"]},
    ),
    Operation(
        "events",
        "get",
        events.PATH,
        "The latest events of the metastore, newest first, without their messages",
        events.Events,
        events.Events([events.Event(1234, 1767225600, "ALTER_TABLE", "hive", "sales", "orders")]),
        query=(("limit", f"How many at most, up to {events.COUNT_MAX}.", 50),),
        fails=("503",),
    ),
)
