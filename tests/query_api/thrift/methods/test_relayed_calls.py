"""Calls that are left to the metastore: forms and expressions that the cache doesn't answer."""

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.names import DatabaseName
from hive.thrift import requests
from hive.thrift.binary import encode
from hive.thrift.structs import DATABASE
from hive.thrift.types import Struct, string
from query_api.thrift.call import Call, CallAnswer, Client, Relay, RelayReason
from query_api.thrift.methods.tables import TABLES_MAX
from state.records.objects import DatabaseImage
from tests.query_api.shards import (
    ORDERS_ID,
    MemoryShard,
    MemoryShards,
    change,
    database_image,
    load_databases,
    load_names,
    name_image,
)
from tests.query_api.thrift.methods.cached_calls import (
    EVENT,
    METHODS,
    by_expression,
    cached,
    call,
    get_table,
    now,
    reason,
    statistics,
)
from tests.query_api.thrift.methods.comparison import whole

KRYO = b"\1\0org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDes\xe3"


def tables(**fields: Any) -> Call:
    request = {"dbName": "sales", "tblNames": ["orders"], **fields}
    return call("get_table_objects_by_name_req", req=encode(requests.GET_TABLES, request))


def partitions_by_values(**fields: Any) -> Call:
    request = {"dbName": "sales", "tblName": "orders", **fields}
    asked = encode(requests.PARTITIONS_BY_VALUES, request)
    return call("get_partitions_ps_with_auth_req", req=asked)


def foreign_keys(**fields: Any) -> Call:
    request = {"foreign_db_name": "sales", "foreign_tbl_name": "orders", **fields}
    return call("get_foreign_keys", request=encode(requests.FOREIGN_KEYS, request))


def role_members(role: str) -> Call:
    request = encode(requests.PRINCIPALS_IN_ROLE, {"roleName": role})
    return call("get_principals_in_role", request=request)


def by_name(name: str) -> Call:
    place = {"db_name": "sales", "tbl_name": "orders"}
    return call("get_partition_by_name", **place, part_name=name)


def of_partition(name: str) -> Call:
    place = {"db_name": "sales", "tbl_name": "orders", "col_name": "amount"}
    return call("get_partition_column_statistics", **place, part_name=name)


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (get_table(tblName="Orders"), RelayReason.FORM),
        (get_table(tblName="or.ders"), RelayReason.FORM),
        (get_table(catName="Hive"), RelayReason.FORM),
        (get_table(processorCapabilities=["EXTREAD", "A_NEW_ONE"]), RelayReason.CAPABILITIES),
        (get_table(validWriteIdList="sales.other:1:1::", id=ORDERS_ID), RelayReason.FORM),
        (get_table(validWriteIdList="no list", id=ORDERS_ID), RelayReason.FORM),
        (get_table(validWriteIdList="3$sales.orders:1:1::", id=ORDERS_ID), RelayReason.FORM),
        (call("get_all_tables", db_name="@hive"), RelayReason.FORM),
        (call("get_all_tables", db_name="@Hive#sales"), RelayReason.FORM),
        (call("get_databases", pattern="@Hive#*"), RelayReason.FORM),
        (
            call("get_table_meta", db_patterns="@Hive#", tbl_patterns="*"),
            RelayReason.FORM,
        ),
        (call("get_database", name="sales"), RelayReason.FORM),
        (call("get_databases"), RelayReason.FORM),
        (call("get_table_meta", tbl_patterns="*"), RelayReason.FORM),
        (tables(tablesPattern=""), RelayReason.FORM),
        (tables(tblNames=None, capabilities={}), RelayReason.UNREADABLE),
        (tables(tblNames=None), RelayReason.FORM),
        (tables(tblNames=["orders", "Other"]), RelayReason.FORM),
        (tables(tblNames=["orders"] * (TABLES_MAX + 1)), RelayReason.FORM),
        (foreign_keys(parent_tbl_name="other"), RelayReason.FORM),
        (role_members("a\0"), RelayReason.FORM),
        (statistics("get_table_statistics_req", engine="hi\0ve"), RelayReason.FORM),
        (statistics("get_table_statistics_req", colNames=["amount", "a\0"]), RelayReason.FORM),
        (statistics("get_table_statistics_req", colNames=None), RelayReason.UNREADABLE),
        (statistics("get_partitions_statistics_req", colNames=None), RelayReason.UNREADABLE),
        (statistics("get_partitions_statistics_req", partNames=None), RelayReason.UNREADABLE),
        (statistics("get_aggr_stats_for", partNames=None), RelayReason.UNREADABLE),
        (statistics("get_aggr_stats_for", colNames=[], partNames=["DS=1"]), RelayReason.FORM),
        (statistics("get_aggr_stats_for", colNames=["id", "ID"], partNames=[]), RelayReason.FORM),
        (
            statistics("get_partitions_statistics_req", partNames=["ds=00001", "DS=1"]),
            RelayReason.FORM,
        ),
        (statistics("get_partitions_statistics_req", partNames=["ds=00001/"]), RelayReason.FORM),
        (statistics("get_partitions_statistics_req", partNames=["ds=10:00"]), RelayReason.FORM),
        (of_partition("DS=00001"), RelayReason.FORM),
        (by_expression(None), RelayReason.UNREADABLE),
        (by_expression(None, "get_partitions_by_expr"), RelayReason.UNREADABLE),
        (by_expression(None, "get_partitions_spec_by_expr"), RelayReason.UNREADABLE),
        (
            by_expression(b"", "get_partitions_by_expr", defaultPartitionName="none"),
            RelayReason.FORM,
        ),
        (call("get_partitions_by_names", db_name="sales", tbl_name="orders"), RelayReason.FORM),
        (partitions_by_values(partNames=[]), RelayReason.FORM),
        (call("get_tables", db_name="sales", pattern="[a-z]+"), RelayReason.FORM),
        (call("get_tables", db_name="sales", pattern="|"), RelayReason.FORM),
        (
            call("get_tables_by_type", db_name="sales", pattern="*", tableType="INDEX_TABLE"),
            RelayReason.FORM,
        ),
        (call("get_databases", pattern="||"), RelayReason.FORM),
        (by_name("ds=x=y"), RelayReason.FORM),
        (by_name("ds=10:00"), RelayReason.FORM),
        (by_name("ds=x%3dy"), RelayReason.FORM),
        (by_name("ds"), RelayReason.FORM),
        (by_name("other=1"), RelayReason.FORM),
        (
            call(
                "get_partitions_by_filter",
                db_name="sales",
                tbl_name="orders",
                filter="ds =",
                max_parts=-1,
            ),
            RelayReason.FORM,
        ),
        (
            call(
                "get_num_partitions_by_filter",
                db_name="sales",
                tbl_name="no_such",
                filter="(",
            ),
            RelayReason.FORM,
        ),
    ],
)
def test_what_is_not_understood_is_relayed(
    source: MemoryShards, asked: Call, why: RelayReason
) -> None:
    assert reason(now(cached(source), asked)) is why


class Reads:
    """Reads one expression, at once or later."""

    def __init__(self, text: str | RelayReason, *, at_once: bool) -> None:
        self._text = text
        self._at_once = at_once

    def at_once(self, expression: bytes) -> str | RelayReason | None:
        assert expression == KRYO
        return self._text if self._at_once else None

    async def text(self, expression: bytes) -> str | RelayReason:
        assert expression == KRYO
        return self._text


@pytest.mark.parametrize("at_once", [True, False])
def test_a_serialized_expression_is_answered_as_its_filter(
    source: MemoryShards, at_once: bool
) -> None:
    text = "(ds = '00007')"
    outcome = now(cached(source, expressions=Reads(text, at_once=at_once)), by_expression(KRYO))
    assert isinstance(outcome, CallAnswer)
    expected = now(cached(source), by_expression(text.encode()))
    assert isinstance(expected, CallAnswer)
    assert whole(outcome) == whole(expected)
    assert b"ds=00007" in whole(outcome)


@pytest.mark.parametrize("at_once", [True, False])
@pytest.mark.parametrize(
    ("text", "why"),
    [(RelayReason.EXPRESSION, RelayReason.EXPRESSION), ("upper(ds) = 'A'", RelayReason.FORM)],
)
def test_an_expression_that_is_no_filter_is_relayed(
    source: MemoryShards, text: str | RelayReason, why: RelayReason, at_once: bool
) -> None:
    cache = cached(source, expressions=Reads(text, at_once=at_once))
    assert reason(now(cache, by_expression(KRYO))) is why
    without_java = cached(source)
    assert reason(now(without_java, by_expression(KRYO))) is RelayReason.EXPRESSION
    # After a write of the client's own, a call isn't tried at once.
    later = asyncio.run(without_java.answer(by_expression(KRYO)))
    assert reason(later) is RelayReason.EXPRESSION


@pytest.mark.parametrize("stored", ["MANAGED_TABLE", ""])
def test_names_of_tables_are_relayed_where_one_has_no_type(stored: str) -> None:
    """An alter gives it one without a word in the log."""
    typeless = name_image("other", stored)
    source = MemoryShards(
        MemoryShard(
            change(EVENT, after=0),
            *load_databases(EVENT, database_image()),
            *load_names(EVENT, name_image("orders"), typeless),
        )
    )
    by_type = {"db_name": "sales", "tableType": "MANAGED_TABLE"}
    lines = {"db_patterns": "sales", "tbl_types": ["EXTERNAL_TABLE"]}
    questions = {
        "other": call("get_tables_by_type", pattern="ot*", **by_type),
        "orders": call("get_tables_by_type", pattern="or*", **by_type),
        "others' lines": call("get_table_meta", tbl_patterns="*", **lines),
        "orders' lines": call("get_table_meta", tbl_patterns="or*", **lines),
    }
    outcomes = {name: now(cached(source), question) for name, question in questions.items()}
    relayed = {name for name, outcome in outcomes.items() if isinstance(outcome, Relay)}
    assert relayed == (set() if stored else {"other", "others' lines"})


@pytest.mark.parametrize("db", ["sales", "afar"])
def test_what_is_in_a_remote_database_is_relayed(db: str) -> None:
    remote = encode(DATABASE, {"name": "afar", "catalogName": "hive", "type": 2})
    afar = DatabaseImage(DatabaseName("hive", "afar"), remote)
    source = MemoryShards(
        MemoryShard(
            change(EVENT, after=0),
            *load_databases(EVENT, database_image(), afar),
            *load_names(EVENT),
            *load_names(EVENT, db=afar.name),
        )
    )
    cache = cached(source)
    cache.set_warehouse("s3a://lake/warehouse")
    place = encode(requests.GET_DATABASE, {"catalogName": "hive", "name": db})
    for question in (
        call("get_database_req", request=place),
        call("get_all_tables", db_name=db),
        call("get_table_meta", db_patterns=db, tbl_patterns="*"),
        get_table(dbName=db, tblName="none"),
        tables(dbName=db, tblNames=["none"]),
    ):
        outcome = now(cache, question)
        assert isinstance(outcome, Relay) == (db == "afar"), question
        assert isinstance(outcome, CallAnswer) or outcome.reason is RelayReason.FORM


def test_unknown_fields_are_relayed(source: MemoryShards) -> None:
    newer = Struct("GetTableRequest", *((f.id, f.name, f.type) for f in requests.GET_TABLE.fields))
    newer.define([(1, "dbName", string), (2, "tblName", string), (99, "new", string)])
    request = encode(newer, {"dbName": "sales", "tblName": "orders", "new": "x"})
    assert reason(now(cached(source), call("get_table_req", req=request))) is RelayReason.FORM


@given(st.sampled_from(sorted(METHODS)), st.binary(max_size=60))
def test_no_arguments_do_harm(method: str, data: bytes) -> None:
    asked = Call(method, data, Client())
    assert isinstance(now(CACHE, asked), CallAnswer | Relay)


CACHE = cached(MemoryShards(MemoryShard()))
