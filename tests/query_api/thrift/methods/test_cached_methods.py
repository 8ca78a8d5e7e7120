"""What becomes of calls, told apart by what the cache knows and understands."""

import asyncio
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import UnansweredError
from hive.thrift import requests
from hive.thrift.binary import decode, encode
from hive.thrift.splice import lacking_serde_details
from hive.thrift.structs import PARTITION, TABLE
from hive.thrift.types import ListOf, Struct, string
from query_api.backend import Backend
from query_api.database_answer import DatabaseAnswer
from query_api.latest.latest_log import LatestLog
from query_api.latest.log_history import LogHistory
from query_api.latest.row_effects import RowEffects
from query_api.positions import Position
from query_api.reasons import Reason, Source
from query_api.requirement import Consistency, Defaults
from query_api.resolver.silent_changes import FIRST_DATABASE
from query_api.thrift.call import Call, CallAnswer, Client, Relay, Unable
from query_api.thrift.methods import CachedMethods
from query_api.thrift.methods.expressions import Expressions
from query_api.thrift.methods.method_table import methods
from query_api.thrift.methods.outcome import texts
from query_api.thrift.methods.table_metas import TABLE_META
from state.records.objects import NameImage, TableImage
from tests.query_api.shards import (
    ORDERS,
    ORDERS_ID,
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
from tests.query_api.thrift.methods.comparison import whole

EVENT = 2_000
PARTITIONS = 1_500
KRYO = b"\1\0org.apache.hadoop.hive.ql.plan.ExprNodeGenericFuncDes\xe3"
METHODS = methods("")
EXCEPTION = Struct("Exception", (1, "message", string))
FOUND = Struct("GetTableResult", (1, "table", TABLE))
TABLE_RESULT = Struct("result", (0, "success", FOUND), (1, "o1", EXCEPTION), (2, "o2", EXCEPTION))
METAS_RESULT = Struct("result", (0, "success", ListOf(TABLE_META)))
PARTITIONS_RESULT = Struct("result", (0, "success", ListOf(PARTITION)))


class Current:
    """A database whose current event is known, and nothing else."""

    def __init__(self) -> None:
        self.history = LogHistory()

    async def after_now(self, reached: Position) -> LatestLog:
        return LatestLog(reached.epoch, EVENT, [])

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


@pytest.fixture(scope="module")
def source() -> MemoryShards:
    return shards()


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


def tables(**fields: Any) -> Call:
    request = {"dbName": "sales", "tblNames": ["orders"], **fields}
    return call("get_table_objects_by_name_req", req=encode(requests.GET_TABLES, request))


def partitions_by_values(**fields: Any) -> Call:
    request = {"dbName": "sales", "tblName": "orders", **fields}
    asked = encode(requests.PARTITIONS_BY_VALUES, request)
    return call("get_partitions_ps_with_auth_req", req=asked)


def now(cache: CachedMethods, asked: Call) -> CallAnswer | Relay:
    async def ask() -> CallAnswer | Relay:
        return cache.answer_now(asked) or await cache.answer(asked)

    return asyncio.run(ask())


def reason(outcome: CallAnswer | Relay) -> Any:
    assert isinstance(outcome, Relay), outcome
    return outcome.reason


def test_a_table_is_answered_with_its_grounds(source: MemoryShards) -> None:
    for consistency in (Consistency.ANY, Consistency.LATEST):
        outcome = now(cached(source, consistency), get_table())
        assert isinstance(outcome, CallAnswer)
        table = decode(TABLE_RESULT, whole(outcome))["success"]["table"]
        assert (table["dbName"], table["tableName"], table["id"]) == ("sales", "orders", ORDERS_ID)
        assert outcome.position == Position(0, EVENT)
        assert outcome.moment is not None
        assert bool(outcome.latest_of) == (consistency is Consistency.LATEST)


@pytest.mark.parametrize(
    "reading",
    [
        get_table(),
        call("get_table_objects_by_name", db_name="sales", tbl_names=["orders"]),
        call("get_all_tables", db_name="sales"),
        call("get_table_meta", db_patterns="*", tbl_patterns="*"),
    ],
    ids=lambda reading: reading.method,
)
def test_the_consistency_of_a_table_holds_for_reads_of_several(
    source: MemoryShards, reading: Call
) -> None:
    """The database says of each that something touched it since."""

    class Touched(Current):
        async def after_now(self, reached: Position) -> LatestLog:
            return LatestLog(reached.epoch, EVENT + 1, [(EVENT + 1, RowEffects(everything=True))])

    of_sales = Defaults(Consistency.ANY, (("sales.*", Consistency.LATEST),))
    strict = CachedMethods(Backend(shards(), Touched()), of_sales)
    assert reason(now(strict, reading)) is Reason.BEHIND
    lax = CachedMethods(Backend(source, Touched()), Defaults(Consistency.ANY))
    assert isinstance(now(lax, reading), CallAnswer)


@pytest.mark.parametrize("consistency", [Consistency.ANY, Consistency.LATEST])
def test_that_there_is_no_table_is_answered_where_it_is_known(
    source: MemoryShards, consistency: Consistency
) -> None:
    cache = cached(source, consistency)
    outcome = now(cache, get_table(tblName="other"))
    assert isinstance(outcome, CallAnswer)
    assert decode(TABLE_RESULT, whole(outcome)) == {
        "o2": {"message": "hive.sales.other table not found"}
    }
    assert reason(now(cache, get_table(dbName="unknown"))) is Reason.COLD


class Answering(Current):
    """A database that answers every read alike, with what it has reached."""

    def __init__(self, answer: DatabaseAnswer[Any] | UnansweredError) -> None:
        super().__init__()
        self._answer = answer
        self.asked = 0

    async def answer(self, read: Any) -> Any:
        self.asked += 1
        if isinstance(self._answer, UnansweredError):
            raise self._answer
        return self._answer


CURRENT_EVENT = "get_current_notificationEventId"
ROLES = DatabaseAnswer(texts(["admin"]), EVENT)
SILENT = (
    call("get_role_names"),
    call("get_functions", dbName="sales", pattern="*"),
    call("get_valid_write_ids", rqst=encode(requests.VALID_WRITE_IDS, {"fullTableNames": []})),
)


@pytest.mark.parametrize("consistency", [Consistency.LATEST, Consistency.WITHIN, Consistency.ANY])
def test_what_no_event_tells_is_read_anew_each_time(
    source: MemoryShards, consistency: Consistency
) -> None:
    database = Answering(ROLES)
    cache = cached(source, consistency, database=database)
    cache.set_open_txn_timeout(1000)
    for number, question in enumerate(SILENT * 2, 1):
        assert cache.answer_now(question) is None
        outcome = now(cache, question)
        assert isinstance(outcome, CallAnswer)
        assert (outcome.source, outcome.reason) == (Source.DATABASE, Reason.DATABASE_ONLY)
        assert (outcome.position, outcome.moment) == (Position(0, EVENT), None)
        assert database.asked == number


def test_a_database_that_lags_behind_the_clients_own_writes_does_not_answer(
    source: MemoryShards,
) -> None:
    cache = cached(source, database=Answering(ROLES))
    for event, is_answered in ((EVENT, True), (EVENT + 1, False)):
        question = call("get_role_names")
        question.min_position = Position(0, event)
        outcome = now(cache, question)
        assert isinstance(outcome, CallAnswer) == is_answered
        assert is_answered or reason(outcome) is Reason.BEHIND


def test_what_no_event_tells_is_relayed_while_the_database_does_not_answer(
    source: MemoryShards,
) -> None:
    cache = cached(source, database=Answering(UnansweredError("it is down", 1.0)))
    assert reason(now(cache, call("get_role_names"))) is Reason.UNREAD


def test_what_the_database_tells_is_relayed_until_the_epoch_of_that_is_known() -> None:
    source = MemoryShards(None)
    source.epoch = None
    cache = cached(source, database=Answering(ROLES))
    for question in (call("get_role_names"), Call(CURRENT_EVENT, b"\0", Client())):
        assert reason(now(cache, question)) is Reason.UNREAD
    source.epoch = 1
    outcome = now(cache, call("get_role_names"))
    assert isinstance(outcome, CallAnswer)
    assert outcome.position == Position(1, EVENT)


def test_open_transactions_are_relayed_until_their_time_limit_is_told(
    source: MemoryShards,
) -> None:
    cache = cached(source, database=Answering(DatabaseAnswer(b"\0", EVENT)))
    assert reason(now(cache, call("get_open_txns"))) is Unable.FORM
    cache.set_open_txn_timeout(1000)
    assert isinstance(now(cache, call("get_open_txns")), CallAnswer)


def test_a_database_whose_details_may_have_changed_silently_is_read(source: MemoryShards) -> None:
    database = Answering(DatabaseAnswer(database_image().data, EVENT))
    cache = cached(source, Consistency.LATEST, database=database)
    cache.set_warehouse("file:/elsewhere")
    outcome = now(cache, call("get_database", name="sales"))
    assert isinstance(outcome, CallAnswer)
    assert (outcome.source, outcome.reason) == (Source.DATABASE, Reason.SILENT_LOG)
    assert b"s3a://lake/sales" in whole(outcome)
    under_any = cached(source, database=database)
    under_any.set_warehouse("file:/elsewhere")
    outcome = now(under_any, call("get_database", name="sales"))
    assert isinstance(outcome, CallAnswer)
    assert (outcome.source, database.asked) == (Source.CACHE, 1)


def test_a_limit_is_left_to_metastores_that_order_partitions_otherwise(
    source: MemoryShards,
) -> None:
    place = {"db_name": "sales", "tbl_name": "orders"}
    limited = [
        call("get_partitions", **place, max_parts=2),
        call("get_partition_names", **place, max_parts=2),
        call("get_partitions_ps", **place, part_vals=["00001"], max_parts=2),
        call("get_partitions_by_filter", **place, filter="ds = '00001'", max_parts=2),
    ]
    others = [
        get_table(),
        call("get_partitions", **place, max_parts=-1),
        call("get_partition_names", **place, max_parts=-1),
        call("get_partitions_by_names", **place, names=["ds=00001"]),
    ]
    cache = cached(source)
    assert all(isinstance(now(cache, asked), CallAnswer) for asked in (*limited, *others))
    cache.leave_limits()
    assert {reason(now(cache, asked)) for asked in limited} == {Unable.ORDER}
    assert all(isinstance(now(cache, asked), CallAnswer) for asked in others)


def test_long_lists_are_written_while_they_are_read(source: MemoryShards) -> None:
    most = {"db_name": "sales", "tbl_name": "orders", "max_parts": -1}
    streamed = now(cached(source), call("get_partitions", **most))
    assert isinstance(streamed, CallAnswer)
    assert not isinstance(streamed.result, bytes)
    assert streamed.moment is None
    blocks = list(streamed.result)  # type: ignore[arg-type]
    assert len(blocks) > 1
    partitions = decode(PARTITIONS_RESULT, b"".join(blocks))["success"]
    assert [one["values"] for one in partitions] == [[f"{day:05d}"] for day in range(PARTITIONS)]
    few = now(cached(source), call("get_partitions", **{**most, "max_parts": 7}))
    assert isinstance(few, CallAnswer)
    assert decode(PARTITIONS_RESULT, whole(few))["success"] == partitions[:7]


def by_name(name: str) -> Call:
    place = {"db_name": "sales", "tbl_name": "orders"}
    return call("get_partition_by_name", **place, part_name=name)


def by_expression(expression: bytes | None, method: str = "get_partition_names_req") -> Call:
    request = {"dbName": "sales", "tblName": "orders", "expr": expression, "maxParts": -1}
    return call(method, req=encode(requests.PARTITIONS_BY_EXPRESSION, request))


def statistics(method: str, **fields: Any) -> Call:
    of_table = method == "get_table_statistics_req"
    struct = requests.TABLE_STATISTICS if of_table else requests.PARTITION_STATISTICS
    request = {"dbName": "sales", "tblName": "orders", "colNames": ["amount"]}
    if not of_table:
        request |= {"partNames": ["ds=1"]}
    return call(method, request=encode(struct, {**request, **fields}))


@pytest.mark.parametrize(
    ("asked", "why"),
    [
        (get_table(tblName="Orders"), Unable.FORM),
        (get_table(tblName="or.ders"), Unable.FORM),
        (get_table(catName="Hive"), Unable.FORM),
        (get_table(processorCapabilities=["EXTREAD", "A_NEW_ONE"]), Unable.CAPABILITIES),
        (get_table(validWriteIdList="sales.other:1:1::", id=ORDERS_ID), Unable.FORM),
        (get_table(validWriteIdList="no list", id=ORDERS_ID), Unable.FORM),
        (call("get_database", name="sales"), Unable.FORM),
        (call("get_databases"), Unable.FORM),
        (call("get_table_meta", tbl_patterns="*"), Unable.FORM),
        (tables(tablesPattern=""), Unable.FORM),
        (tables(tblNames=None, capabilities={}), Unable.UNREADABLE),
        (statistics("get_table_statistics_req", engine="hi\0ve"), Unable.FORM),
        (statistics("get_table_statistics_req", colNames=["amount", "a\0"]), Unable.FORM),
        (statistics("get_table_statistics_req", colNames=None), Unable.UNREADABLE),
        (statistics("get_partitions_statistics_req", colNames=None), Unable.UNREADABLE),
        (statistics("get_partitions_statistics_req", partNames=None), Unable.UNREADABLE),
        (statistics("get_aggr_stats_for", partNames=None), Unable.UNREADABLE),
        (by_expression(None), Unable.UNREADABLE),
        (by_expression(None, "get_partitions_by_expr"), Unable.UNREADABLE),
        (by_expression(None, "get_partitions_spec_by_expr"), Unable.UNREADABLE),
        (partitions_by_values(partNames=[]), Unable.FORM),
        (call("get_tables", db_name="sales", pattern="[a-z]+"), Unable.FORM),
        (call("get_tables", db_name="sales", pattern="|"), Unable.FORM),
        (call("get_databases", pattern="||"), Unable.FORM),
        (by_name("ds=x=y"), Unable.FORM),
        (by_name("ds=10:00"), Unable.FORM),
        (by_name("ds=x%3dy"), Unable.FORM),
        (by_name("ds"), Unable.FORM),
        (by_name("other=1"), Unable.FORM),
        (
            call(
                "get_partitions_by_filter",
                db_name="sales",
                tbl_name="orders",
                filter="ds =",
                max_parts=-1,
            ),
            Unable.FORM,
        ),
    ],
)
def test_what_is_not_understood_is_relayed(source: MemoryShards, asked: Call, why: Unable) -> None:
    assert reason(now(cached(source), asked)) is why


class Reads:
    """Reads one expression, at once or later."""

    def __init__(self, text: str | Unable, *, at_once: bool) -> None:
        self._text = text
        self._at_once = at_once

    def at_once(self, expression: bytes) -> str | Unable | None:
        assert expression == KRYO
        return self._text if self._at_once else None

    async def text(self, expression: bytes) -> str | Unable:
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
    ("text", "why"), [(Unable.EXPRESSION, Unable.EXPRESSION), ("upper(ds) = 'A'", Unable.FORM)]
)
def test_an_expression_that_is_no_filter_is_relayed(
    source: MemoryShards, text: str | Unable, why: Unable, at_once: bool
) -> None:
    cache = cached(source, expressions=Reads(text, at_once=at_once))
    assert reason(now(cache, by_expression(KRYO))) is why
    assert reason(now(cached(source), by_expression(KRYO))) is Unable.EXPRESSION


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


def test_like_is_relayed_where_a_partition_has_more_of_its_serde() -> None:
    """For such a filter the metastore reads whole serdes."""
    plain, detailed = partition_image("a1"), partition_image("b1")
    plain = msgspec.structs.replace(plain, data=lacking_serde_details(plain.data))
    source = MemoryShards(
        MemoryShard(
            change(EVENT, after=0),
            *load_databases(EVENT, database_image()),
            *load_names(EVENT, name_image("orders")),
            *load_table(EVENT, plain, detailed, table=table_image(managed=False)),
        )
    )

    def answered(text: str) -> bool:
        place = {"db_name": "sales", "tbl_name": "orders", "max_parts": -1}
        outcome = now(cached(source), call("get_partitions_by_filter", filter=text, **place))
        return isinstance(outcome, CallAnswer)

    filters = ("ds LIKE 'a%'", "ds LIKE 'b%'", "ds LIKE '%1'", "ds = 'b1'", "ds >= 'a'")
    assert [answered(text) for text in filters] == [False, True, False, True, True]
    # Which a metastore on MySQL takes for any character.
    assert not answered("ds LIKE 'b.%'")


def test_unknown_fields_are_relayed(source: MemoryShards) -> None:
    newer = Struct("GetTableRequest", *((f.id, f.name, f.type) for f in requests.GET_TABLE.fields))
    newer.define([(1, "dbName", string), (2, "tblName", string), (99, "new", string)])
    request = encode(newer, {"dbName": "sales", "tblName": "orders", "new": "x"})
    assert reason(now(cached(source), call("get_table_req", req=request))) is Unable.FORM


def test_an_empty_list_of_write_ids_is_a_list() -> None:
    records = load_table(EVENT, table=table_image(keys=()))
    source = MemoryShards(MemoryShard(change(EVENT, after=0), *records))
    for text, is_compliant in (("", True), (None, None)):
        outcome = now(cached(source), get_table(validWriteIdList=text, id=ORDERS_ID))
        assert isinstance(outcome, CallAnswer)
        table = decode(TABLE_RESULT, whole(outcome))["success"]["table"]
        assert table.get("isStatsCompliant") is is_compliant


def test_misses_say_why(source: MemoryShards) -> None:
    with_list = get_table(validWriteIdList="sales.orders:3:9::", id=ORDERS_ID + 1)
    assert reason(now(cached(source), with_list)) is Reason.TABLE_ID
    later = get_table()
    later.min_position = Position(0, EVENT + 1)
    assert reason(now(cached(source), later)) is Reason.BEHIND
    elsewhere = now(cached(MemoryShards(None)), get_table())
    assert isinstance(elsewhere, Relay)
    assert (elsewhere.reason, elsewhere.shard) == (Reason.NOT_OWNED, 0)


def test_what_is_cold_is_asked_for() -> None:
    source = MemoryShards(MemoryShard(change(EVENT, after=0)))
    assert reason(now(cached(source), get_table())) is Reason.COLD
    assert [scope.name.table for scope, _ in source.asked] == ["orders"]


@given(st.sampled_from(sorted(METHODS)), st.binary(max_size=60))
def test_no_arguments_do_harm(method: str, data: bytes) -> None:
    asked = Call(method, data, Client())
    assert isinstance(now(CACHE, asked), CallAnswer | Relay)


CACHE = cached(MemoryShards(MemoryShard()))


def test_lines_of_tables_come_from_the_list_or_where_it_lacks_owners_from_the_tables() -> None:
    tables = {"of_ann": ("ann", 1), "of_nobody": (None, 1), "of_role": ("", 2)}

    def metas(*lines: NameImage) -> bytes:
        owned = [
            (ORDERS.database.table(name), encode(TABLE, {"owner": owner, "ownerType": type_}))
            for name, (owner, type_) in tables.items()
        ]
        images = [TableImage(name, ORDERS_ID, 0, False, False, data) for name, data in owned]
        source = MemoryShards(
            MemoryShard(
                change(EVENT, after=0),
                *load_databases(EVENT, database_image()),
                *load_names(EVENT, *lines),
                *(record for image in images for record in load_table(EVENT, table=image)),
            )
        )
        outcome = now(cached(source), call("get_table_meta", db_patterns="*", tbl_patterns="*"))
        assert isinstance(outcome, CallAnswer)
        return whole(outcome)

    exact = [NameImage(name, "T", owner, None, type_) for name, (owner, type_) in tables.items()]
    inexact = [NameImage(name, "T", owner or "", None) for name, (owner, _) in tables.items()]
    answer = metas(*exact)
    assert answer == metas(*inexact) == metas(*exact[:1], *inexact[1:])
    metas_in = decode(METAS_RESULT, answer)["success"]
    assert [(m.get("ownerName"), m["ownerType"]) for m in metas_in] == [*tables.values()]
