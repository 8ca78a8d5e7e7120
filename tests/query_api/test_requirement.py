import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import InputError
from hive.names import table_name
from query_api.consistency import Consistency
from query_api.positions import Position
from query_api.reads import (
    GetTable,
    GetTables,
    ListDatabases,
    ListTables,
)
from query_api.requirement import PARAMETERS, Requirement, parse_requirement
from query_api.requirement_defaults import Defaults

ORDERS = table_name(None, "sales", "orders")
TABLE = GetTable(ORDERS)
SEVERAL = GetTables((ORDERS, table_name(None, "hr", "t")))
LIST = "sales.orders:12:7:7,12:8"
NO_DEFAULTS = Defaults()


def parse(given: dict[str, str] | None = None, /, **more: str) -> Requirement:
    return parse_requirement({**(given or {}), **more}, TABLE, NO_DEFAULTS)


def parse_with(defaults: Defaults, **given: str) -> Requirement:
    return parse_requirement(given, TABLE, defaults)


def test_a_list_with_a_positive_id_is_checked_and_everything_else_is_latest() -> None:
    checked = parse(write_ids=LIST, table_id="5")
    assert checked.consistency is Consistency.WRITE_IDS
    assert not checked.must_be_current
    assert checked.table_id == 5
    assert checked.write_ids is not None
    assert checked.write_ids.hwm == 12
    for parameters in ({}, {"write_ids": LIST}, {"table_id": "5"}):
        assert parse(parameters) == Requirement()


@pytest.mark.parametrize(
    ("ids", "table_id"),
    [
        ("sales.orders:9223372036854775807:9223372036854775807::", "5"),
        ("", "5"),
        ("null:5:1::", "5"),
        (LIST, "-1"),
        (LIST, "0"),
        ("4$sales.other:5:9223372036854775807::", "5"),
    ],
)
def test_what_hive_sends_outside_of_queries_counts_as_no_list(ids: str, table_id: str) -> None:
    assert parse(write_ids=ids, table_id=table_id) == Requirement()


@pytest.mark.parametrize(
    "ids", ["[12:7,8,12]", "HIVE.Sales.Orders:12:7:7,12:8", f"9${LIST}$sales.other:1:1:1:"]
)
def test_every_form_of_a_list_is_understood(ids: str) -> None:
    requirement = parse(write_ids=ids, table_id="5")
    assert requirement.write_ids is not None
    assert [*requirement.write_ids.exceptions] == [7, 8, 12]


def test_a_list_is_not_checked_where_something_else_is_asked_for() -> None:
    requirement = parse(write_ids=LIST, table_id="5", consistency="any")
    assert requirement == Requirement(Consistency.ANY, must_be_current=False)


def test_a_deployment_sets_defaults_by_table_and_a_floor() -> None:
    defaults = Defaults(tables=(("sales.*", Consistency.ANY), ("*", Consistency.LATEST)))
    assert parse_with(defaults) == Requirement(Consistency.ANY, must_be_current=False)
    assert parse_requirement({}, GetTable(table_name(None, "hr", "t")), defaults) == Requirement()
    assert parse_requirement({}, ListDatabases("hive"), defaults) == Requirement()
    floor = Defaults(tables=defaults.tables, floor=Consistency.LATEST)
    assert parse_with(floor) == Requirement(Consistency.ANY, must_be_current=True)
    assert parse_with(floor, write_ids=LIST, table_id="5").must_be_current


def test_an_age_comes_in_a_word_or_by_itself_or_from_the_deployment() -> None:
    forms = (
        {"consistency": "within; max_age_ms=250"},
        {"consistency": "within;max_age_ms = 250"},
        {"consistency": "within", "max_age_ms": "250"},
        {"consistency": "within; max_age_ms=9", "max_age_ms": "250"},
        {"max_age_ms": "250"},
    )
    for form in forms:
        assert parse(form) == Requirement(Consistency.WITHIN, must_be_current=True, max_age_ms=250)
    defaults = Defaults(tables=(("sales.*", Consistency.WITHIN),), max_age_ms=40)
    by_default = Requirement(Consistency.WITHIN, must_be_current=True, max_age_ms=40)
    assert parse_with(defaults) == parse_with(defaults, consistency="within") == by_default
    assert parse_with(defaults, max_age_ms="250").max_age_ms == 250
    assert parse_with(defaults, consistency="latest") == Requirement()
    floor = Defaults(Consistency.WITHIN, floor=Consistency.LATEST)
    assert parse_with(floor, max_age_ms="250") == Requirement(
        Consistency.WITHIN, must_be_current=True
    )


def test_a_position_can_be_added_to_each() -> None:
    for consistency in ("any", "at_least", "within", "latest"):
        requirement = parse(consistency=consistency, min_position="2:34", max_wait_ms="50")
        assert requirement.min_position == Position(2, 34)
        assert requirement.max_wait_ms == 50


@pytest.mark.parametrize(
    ("parameters", "says"),
    [
        ({"consistency": "strong"}, "write one of any, at_least, write_ids, within, latest"),
        ({"consistency": "at_least"}, "needs a min_position"),
        ({"min_position": "34"}, "Metatide-Position"),
        ({"max_wait_ms": "60001"}, "from 0 to 60000"),
        ({"max_wait_ms": "٣"}, "bad max_wait_ms"),
        ({"table_id": "x"}, "bad table_id"),
        ({"accept_newer": "maybe"}, "true or false"),
        ({"max_age_ms": "0"}, "from 1 to 60000"),
        ({"consistency": "within; max_age_ms="}, "bad max_age_ms"),
        ({"consistency": "within; age=5"}, "write max_age_ms=100"),
        ({"consistency": "latest; max_age_ms=5"}, "for consistency within, not latest"),
        ({"write_ids": LIST, "table_id": "5", "max_age_ms": "5"}, "not write_ids"),
        ({"write_ids": "hr.t:5:1::", "table_id": "5"}, "but hive.sales.orders is read"),
        ({"write_ids": "12:7:7:", "table_id": "5"}, "list of transactions"),
        ({"write_ids": "sales.orders:x:1::", "table_id": "5"}, "bad write-id list"),
    ],
)
def test_what_makes_no_sense_is_refused_with_advice(parameters: dict[str, str], says: str) -> None:
    with pytest.raises(InputError, match=says):
        parse(parameters)


@pytest.mark.parametrize(
    "conditions",
    [
        {"consistency": "write_ids"},
        {"write_ids": LIST, "table_id": "5"},
        {"write_ids": "[12:7,8,12]", "table_id": "5"},
        {"write_ids": f"9${LIST}$sales.other:1:1:1:", "table_id": "5"},
    ],
)
def test_a_list_is_of_one_table(conditions: dict[str, str]) -> None:
    for read in (SEVERAL, ListTables(ORDERS.database)):
        with pytest.raises(InputError, match="reads of one table"):
            parse_requirement(conditions, read, NO_DEFAULTS)


@pytest.mark.parametrize(
    "conditions",
    [
        {"write_ids": LIST},
        {"write_ids": LIST, "table_id": "-1"},
        {"write_ids": "sales.orders:9223372036854775807:9223372036854775807::", "table_id": "5"},
        {"write_ids": "", "table_id": "5"},
        {"write_ids": "null:5:1::", "table_id": "5"},
    ],
)
def test_what_counts_as_no_list_does_no_harm_to_reads_of_several_tables(
    conditions: dict[str, str],
) -> None:
    assert parse_requirement(conditions, SEVERAL, NO_DEFAULTS) == Requirement()
    latest = {"write_ids": LIST, "table_id": "5", "consistency": "latest"}
    assert parse_requirement(latest, SEVERAL, NO_DEFAULTS) == Requirement()


TEXTS = st.text(max_size=40) | st.text(string.digits + ":,-$[]", max_size=40)


@given(st.dictionaries(st.sampled_from(PARAMETERS), TEXTS))
def test_any_text_is_read_or_refused(parameters: dict[str, str]) -> None:
    refusal = ""
    try:
        requirement = parse(parameters)
    except InputError as error:
        refusal = str(error)
    else:
        assert requirement.write_ids is None or requirement.table_id > 0
    assert len(refusal) < 400


def test_latest_is_refused_where_nobody_can_tell_it() -> None:
    with pytest.raises(InputError, match=r"latest can't be the default .*: why; until then"):
        Defaults(never_current="why")
    refusing = Defaults(Consistency.ANY, never_current="why")
    assert parse_with(refusing).consistency is Consistency.ANY
    for consistency in ("latest", "within"):
        with pytest.raises(InputError, match=f"{consistency} isn't available: why"):
            parse_with(refusing, consistency=consistency)
    with pytest.raises(InputError, match="within can't be the default"):
        Defaults(Consistency.ANY, (("logs.*", Consistency.WITHIN),), never_current="why")
