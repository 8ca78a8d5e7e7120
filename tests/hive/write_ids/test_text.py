from contextlib import suppress

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from hive.errors import WriteIdListError
from hive.write_ids.lists import LONG_MAX, WriteIdList, write_id_list
from hive.write_ids.text import (
    IDS_MAX,
    LENGTH_MAX,
    TxnWriteIdLists,
    parse,
    parse_short,
    parse_txn_list,
    parse_txn_write_id_lists,
    parse_write_id_list,
    print_txn_list,
    print_write_id_list,
)
from tests.hive.write_ids.model import write_id_lists

MAX = str(LONG_MAX)


@given(write_id_lists())
def test_every_form_round_trips(ids: WriteIdList) -> None:
    assert parse(print_write_id_list(ids)) == ids
    txns = write_id_list(ids.hwm, ids.open, ids.aborted)
    assert parse(print_txn_list(ids)) == txns
    short = write_id_list(ids.hwm, ids.exceptions)
    exceptions = ",".join(map(str, ids.exceptions))
    assert parse(f"[{ids.hwm}:{exceptions}]") == short


@given(st.lists(write_id_lists(), max_size=4), st.integers(0, 99))
def test_the_lists_of_a_transaction_round_trip(lists: list[WriteIdList], txn: int) -> None:
    wanted = TxnWriteIdLists(txn, {ids.table or "": ids for ids in lists})
    text = "$".join([str(txn), *map(print_write_id_list, wanted.lists.values())])
    assert parse_txn_write_id_lists(text) == wanted
    if lists:
        assert parse(text) == wanted


@given(st.text(alphabet="d.:,$[]+-0123456789x ", max_size=30))
@example("d.t:5:3:3,4:")
def test_any_text_is_a_list_or_an_error_of_ours(text: str) -> None:
    with suppress(WriteIdListError):
        parse(text)


@pytest.mark.parametrize(
    ("text", "hwm", "open_ids", "aborted"),
    [
        ("", LONG_MAX, [], []),
        (f"d.t:5:{MAX}", 5, [], []),
        (f"d.t:5:{MAX}:", 5, [], []),
        (f"d.t:5:{MAX}::", 5, [], []),
        ("d.t:5:3:3,4", 5, [3, 4], []),
        ("d.t:5:3:3,4:", 5, [3, 4], []),
        ("d.t:5:3::3,4", 5, [], [3, 4]),
        ("d.t:5:3:4,3:", 5, [3, 4], []),
        ("d.t:5:3:3:3", 5, [3], [3]),
        ("null:5:1::", 5, [], []),
        ("d.t:5:3:3,4,:", 5, [3, 4], []),
        ("d.t:5:3:9:", 5, [9], []),
        ("c.d.t:5:3:3:", 5, [3], []),
        ("d.t:5:3:3:4:5", 5, [3], [4]),
        ("d.t:5:3:3:4:x,y", 5, [3], [4]),
        ("d.t:5:3:3:4::", 5, [3], [4]),
        ("d.t:+5:3:+3:", 5, [3], []),
        ("d.t:-5:3:-0:", -5, [0], []),
        ("d.t:05:3:" + "0" * 50 + "3:", 5, [3], []),
        ("d.t:5:3:٣,४:", 5, [3, 4], []),
        ("d.t:５:3::", 5, [], []),
        (":5:3::", 5, [], []),
        (" d.t:5:3::,", 5, [], []),
        (f"d.t:5:3:{-(2**63)}:", 5, [-(2**63)], []),
    ],
)
def test_what_hive_accepts(text: str, hwm: int, open_ids: list[int], aborted: list[int]) -> None:
    ids = parse_write_id_list(text)
    assert (ids.hwm, list(ids.open), list(ids.aborted)) == (hwm, open_ids, aborted)


def test_an_id_that_is_open_and_aborted_counts_twice() -> None:
    assert list(parse_write_id_list("d.t:5:3:3:3").exceptions) == [3, 3]
    assert print_write_id_list(parse_write_id_list("d.t:5:3::3,3")) == "d.t:5:3:3:3"


@pytest.mark.parametrize("null", ["null", "NULL", "Null"])
def test_null_is_no_table_and_keeps_its_least_open_id(null: str) -> None:
    ids = parse_write_id_list(f"{null}:5:1::")
    assert ids.table is None
    assert ids.min_open == 1
    assert print_write_id_list(ids) == "null:5:1::"


def test_a_list_without_exceptions_ends_in_two_colons() -> None:
    assert print_write_id_list(write_id_list(5, table="d.t")) == f"d.t:5:{MAX}::"


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("d.t", 3),
        ("d.t:", 4),
        ("d.t:5", 5),
        ("d.t:5:", 5),
        ("d.t::5", 4),
        ("d.t:x:1::", 4),
        ("d.t:5:3:3,,4:", 10),
        ("d.t:5:3: 3:", 8),
        ("d.t:5:3:,3:", 8),
        ("d.t:5:3:3:4,x", 12),
        (f"d.t:5:3:{2**63}:", 8),
        ("d.t:5:3:" + "9" * 5000, 8),
        ("d.t:5:3:𝟗:", 8),
        ("d.t:5:+:", 6),
        ("d.t:5:3:3\n:", 8),
        ("d.t:5:3:3:,4", 10),
        ("::", 1),
        ("d.t:5:3:1_0:", 8),
    ],
)
def test_what_hive_rejects(text: str, place: int) -> None:
    with pytest.raises(WriteIdListError, match=f"bad write-id list at character {place} of "):
        parse_write_id_list(text)


def test_an_error_shows_the_surroundings_of_the_place() -> None:
    text = "d.t:500:1:" + ",".join(map(str, range(1, 200))) + ",x,201:"
    with pytest.raises(WriteIdListError, match=r"of …'.*199,x,201:': an open id must be") as caught:
        parse_write_id_list(text)
    assert len(str(caught.value)) < 200


def test_a_text_has_a_greatest_length() -> None:
    with pytest.raises(WriteIdListError, match="at most"):
        parse("d.t:5:1:" + "1," * (LENGTH_MAX // 2))


def test_a_list_has_a_greatest_number_of_ids() -> None:
    with pytest.raises(WriteIdListError, match=f"at most {IDS_MAX} ids"):
        parse("d.t:5:1:" + "1," * IDS_MAX + "1:")


@pytest.mark.parametrize("text", ["[12:7,8", "[12]", "[:]", "[x:1]", "[5:1,,2]", "[5:1:2]"])
def test_what_is_no_short_form(text: str) -> None:
    with pytest.raises(WriteIdListError):
        parse(text)


def test_the_short_form() -> None:
    assert parse_short("[12:7,8,12]") == write_id_list(12, [7, 8, 12])
    assert parse_short("[8:]") == write_id_list(8)
    with pytest.raises(WriteIdListError, match="begin with a bracket"):
        parse_short("12:7")


def test_a_list_of_transactions() -> None:
    assert parse("7:3:3,5:4") == write_id_list(7, [3, 5], [4])
    assert parse_txn_list("") == WriteIdList(LONG_MAX)
    with pytest.raises(WriteIdListError, match="high-water mark"):
        parse_txn_list("7")


def test_the_lists_of_a_transaction() -> None:
    both = parse_txn_write_id_lists("12$d.t:5:3:3:$d.u:1:9::$")
    assert both == TxnWriteIdLists(
        12,
        {"d.t": write_id_list(5, [3], table="d.t"), "d.u": WriteIdList(1, min_open=9, table="d.u")},
    )
    assert parse_txn_write_id_lists("12").lists == {}


def test_the_last_of_two_lists_for_a_table_counts_and_case_tells_tables_apart() -> None:
    lists = parse_txn_write_id_lists("1$d.t:5:3:3:$d.t:6:3:3:$D.t:7:3:3:").lists
    assert {table: ids.hwm for table, ids in lists.items()} == {"d.t": 6, "D.t": 7}
    assert list(parse_txn_write_id_lists("1$NULL:5:1::").lists) == ["null"]


def test_an_error_in_a_later_list_is_at_its_place_in_the_whole() -> None:
    with pytest.raises(WriteIdListError, match="at character 17 of "):
        parse("12$d.t:5:3:3:$d.u")
    with pytest.raises(WriteIdListError, match="id of a transaction"):
        parse("x$d.t:5:3:3:")
