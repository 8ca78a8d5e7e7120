"""Expressions as Hive serializes them: what the cache says by them is what the metastore says."""

import asyncio
from collections.abc import Iterator, Mapping
from time import monotonic
from typing import Any

import pytest

from metatide.stack import jars
from metatide.stack.metastore import java_21
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.requirement_defaults import Defaults
from query_api.thrift.java.expressions import Expressions, JavaSettings
from query_api.thrift.methods import CachedMethods
from tests.query_api.thrift.methods import caches, wire
from tests.query_api.thrift.methods.comparison import Comparison
from tests.query_api.thrift.methods.corpus import Call, req
from tests.support.hive import hms_objects as objects
from tests.support.hive.java import Serialized, hive_java
from tests.support.hive.metastore import Instances

pytestmark = [pytest.mark.hive, pytest.mark.by_turns(2, of="metastores")]
DB = "serialized"
NOTHING = "__HIVE_DEFAULT_PARTITION__"
KEYS = {"ds": "string", "n": "int", "d": "date"}
VALUES = [
    ["eu", "1", "2026-01-01"],
    ["eu", "2", "2026-01-02"],
    ["us", "10", "2026-01-03"],
    ["it's", "10", "2026-02-01"],
    [NOTHING, "3", "2026-02-02"],
    ["a b", NOTHING, "2026-02-03"],
    ["u_s", "5", NOTHING],
]
METHODS = ("get_partitions_by_expr", "get_partitions_spec_by_expr", "get_partition_names_req")
ONLY_THE_METASTORE = {"not", "function", "half", "quote", "broken"}
"""Of these the metastore makes no SQL: it prunes names by them."""
PATIENCE_S = 60.0


@pytest.fixture(scope="module")
def expressions() -> Iterator[dict[str, bytes]]:
    with hive_java() as java:
        yield {**built(Serialized(java)), "broken": b"\x01\0org.apache"}


def built(by: Serialized) -> dict[str, bytes]:
    ds, n, d = (by.column(*key) for key in KEYS.items())
    is_eu = by.call("OPEqual", ds, by.constant("eu", "string"))
    days = (by.constant(text, "date") for text in ("2026-01-02", "2026-02-01"))
    by_name = {
        "equal": is_eu,
        "number": by.call("OPEqual", n, by.constant(10, "int")),
        "day": by.call("OPEqual", d, by.constant("2026-01-02", "date")),
        "less": by.call("OPLessThan", n, by.constant(3, "int")),
        "most": by.call("OPEqualOrLessThan", n, by.constant(3, "int")),
        "more": by.call("OPGreaterThan", ds, by.constant("eu", "string")),
        "least": by.call("OPEqualOrGreaterThan", d, by.constant("2026-02-01", "date")),
        "other": by.call("OPNotEqual", ds, by.constant("us", "string")),
        "turned": by.call("OPLessThan", by.constant(2, "int"), n),
        "and": by.call("OPAnd", is_eu, by.call("OPGreaterThan", n, by.constant(1, "int"))),
        "or": by.call("OPOr", is_eu, by.call("OPEqual", n, by.constant(10, "int"))),
        "in": by.call("In", ds, by.constant("eu", "string"), by.constant("a b", "string")),
        "between": by.call("Between", by.constant(False, "boolean"), d, *days),
        "null": by.call("OPNull", ds),
        "filled": by.call("OPNotNull", n),
        "like": by.call("Like", ds, by.constant("u%", "string")),
        "quote": by.call("OPEqual", ds, by.constant("it's", "string")),
        "not": by.call("OPNot", by.call("In", ds, by.constant("eu", "string"))),
        "function": by.call("OPEqual", by.call("Upper", ds), by.constant("EU", "string")),
    }
    half = by.call("OPEqual", by.column("id", "int"), by.constant(1, "int"))
    by_name["half"] = by.call("OPAnd", is_eu, half)
    return {name: by.bytes_of(one) for name, one in by_name.items()}


@pytest.fixture(scope="module")
def filled(metastore: Instances) -> Instances:
    with metastore.connect() as client:
        client.create_database(DB)
        for name, transactional in (("external", False), ("acid", True)):
            wanted = objects.table(DB, name, {"id": "bigint"}, KEYS, transactional=transactional)
            client.add_partitions(client.create_table(wanted), VALUES)
    return metastore


def calls(expression: bytes) -> Iterator[Call]:
    for name, most, default in (("external", -1, NOTHING), ("acid", 1, None)):
        for method in METHODS:
            yield req(
                method,
                "PartitionsByExprRequest",
                dbName=DB,
                tblName=name,
                expr=expression,
                defaultPartitionName=default,
                maxParts=most,
            )


async def running(found: Expressions, expression: bytes) -> None:
    """The process is started by the first expression."""
    deadline = monotonic() + PATIENCE_S
    while not isinstance(await found.text(expression), str) or not found.outcomes.get("read"):
        assert monotonic() < deadline, found.outcomes
        await asyncio.sleep(0.1)


async def compared(instances: Instances, expressions: Mapping[str, bytes]) -> dict[str, Any]:
    url = instances.database_url
    primary = Primary(url)
    reader = Expressions(JavaSettings(java_21(), f"{jars.fetch('hive')}/*"))
    results = {}
    try:
        await running(reader, expressions["equal"])
        with caches.following(url) as cache, wire.connect(instances.addresses[0]) as metastore:
            cache.load()
            methods = CachedMethods(
                Backend(cache.source, primary),
                Defaults(Consistency.ANY),
                expressions=reader,
            )
            for name, expression in expressions.items():
                comparison = Comparison({"warm": methods})
                await comparison.run(metastore, calls(expression))
                results[name] = comparison
    finally:
        await reader.close()
        await primary.close()
    return results


async def test_what_is_said_by_an_expression(
    filled: Instances, expressions: dict[str, bytes]
) -> None:
    found = await compared(filled, expressions)
    for name, comparison in found.items():
        answered = {} if name in ONLY_THE_METASTORE else dict.fromkeys(METHODS, 2)
        assert comparison.same["warm"] == answered, (name, comparison.relayed)
