"""Calls to methods of one cache, and what becomes of them."""

import asyncio
from typing import Any

from hive.thrift import requests
from hive.thrift.binary import encode
from hive.thrift.structs import TABLE
from hive.thrift.types import Struct, string
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.latest.log_end import LogEnd
from query_api.latest.log_history import LogHistory
from query_api.positions import Position
from query_api.requirement_defaults import Defaults
from query_api.resolver.silent_changes import FIRST_DATABASE
from query_api.thrift.call import Call, CallAnswer, Client, Relay
from query_api.thrift.methods import CachedMethods
from query_api.thrift.methods.expressions import Expressions
from query_api.thrift.methods.method_table import methods
from tests.query_api.shards import (
    MemoryShard,
    MemoryShards,
    change,
    database_image,
    load_databases,
    load_names,
    load_table,
    name_image,
    partition_image,
    table_image,
)

EVENT = 2_000
PARTITIONS = 1_500
METHODS = methods("")
EXCEPTION = Struct("Exception", (1, "message", string))
FOUND = Struct("GetTableResult", (1, "table", TABLE))
TABLE_RESULT = Struct("result", (0, "success", FOUND), (1, "o1", EXCEPTION), (2, "o2", EXCEPTION))


class Current:
    """A database whose current event is known, and nothing else."""

    def __init__(self) -> None:
        self.history = LogHistory()

    async def after_now(self, reached: Position) -> LogEnd | None:
        return LogEnd(reached.epoch, EVENT, [])

    async def answer(self, read: Any) -> Any:
        raise AssertionError(f"{read} is asked of the database")


def shards() -> MemoryShards:
    partitions = [partition_image(f"{day:05d}") for day in range(PARTITIONS)]
    return MemoryShards(
        MemoryShard(
            change(EVENT, after=0),
            *load_databases(EVENT, database_image(), database_image(FIRST_DATABASE)),
            *load_names(EVENT, db=FIRST_DATABASE),
            *load_names(EVENT, name_image("orders")),
            *load_table(EVENT, *partitions, table=table_image(managed=False)),
        )
    )


def cached(
    source: MemoryShards,
    consistency: Consistency = Consistency.ANY,
    expressions: Expressions | None = None,
    database: Current | None = None,
) -> CachedMethods:
    backend = Backend(source, database or Current())
    return CachedMethods(backend, Defaults(consistency), expressions=expressions)


def call(method: str, /, **given: Any) -> Call:
    return Call(method, encode(METHODS[method].arguments, given), Client())


def get_table(**fields: Any) -> Call:
    place = {"dbName": "sales", "tblName": "orders"}
    return call("get_table_req", req=encode(requests.GET_TABLE, {**place, **fields}))


def by_expression(
    expression: bytes | None, method: str = "get_partition_names_req", **fields: Any
) -> Call:
    request = {"dbName": "sales", "tblName": "orders", "expr": expression, "maxParts": -1}
    return call(method, req=encode(requests.PARTITIONS_BY_EXPRESSION, {**request, **fields}))


def statistics(method: str, **fields: Any) -> Call:
    of_table = method == "get_table_statistics_req"
    struct = requests.TABLE_STATISTICS if of_table else requests.PARTITION_STATISTICS
    request = {"dbName": "sales", "tblName": "orders", "colNames": ["amount"]}
    if not of_table:
        request |= {"partNames": ["ds=1"]}
    return call(method, request=encode(struct, {**request, **fields}))


def now(cache: CachedMethods, asked: Call) -> CallAnswer | Relay:
    async def ask() -> CallAnswer | Relay:
        return cache.answer_now(asked) or await cache.answer(asked)

    return asyncio.run(ask())


def reason(outcome: CallAnswer | Relay) -> Any:
    assert isinstance(outcome, Relay), outcome
    return outcome.reason
