"""Rows → events: all types, both formats, and rows that nobody should write."""

import gzip
import json
import re
from base64 import b64encode
from contextlib import suppress
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import EventError, InputError
from hive.events import event_types
from hive.events.decode import decode, names_of_altered_table
from hive.events.envelope import GZIP, PLAIN
from hive.events.message_types import MESSAGE_TYPES, Message
from hive.events.row import NotificationRow, row_from_json
from hive.names import TableName
from hive.thrift.binary import decode as decode_object
from hive.thrift.structs import CATALOG, FOREIGN_KEY, PARTITION
from metatide.demo import messages
from tests.hive.events.logs import DATA, LOGS, notification_rows, rows

TABLE: dict[str, Any] = {
    "tableName": "T",
    "dbName": "D",
    "owner": "me",
    "tableType": "MANAGED_TABLE",
    "partitionKeys": [{"name": "ds", "type": "string"}, {"name": "hr", "type": "int"}],
    "parameters": {"transactional": "true", "comment": "hello"},
    "writeId": 3,
    "id": 12,
}
D_T = TableName("hive", "d", "t")


def partition(*values: str, write_id: int = 3) -> dict[str, Any]:
    return {"values": list(values), "dbName": "D", "tableName": "T", "writeId": write_id}


def row(event_type: str, message: str | Message, **changes: Any) -> NotificationRow:
    text = message if isinstance(message, str) else messages.seal(message, 7, PLAIN)
    default = NotificationRow(5, 7, event_type, None, "D", "T", text, PLAIN)
    return msgspec.structs.replace(default, **changes)


def event(event_type: str, message: str | Message, **changes: Any) -> Any:
    return decode(row(event_type, message, **changes))


@pytest.mark.parametrize("log", LOGS)
def test_every_event_of_a_real_log_is_typed(log: str) -> None:
    lines = (DATA / log / "log.jsonl").read_bytes().splitlines()
    for line, columns in zip(lines, rows(log), strict=True):
        parsed = row_from_json(line)
        decoded = decode(parsed)
        assert not isinstance(decoded, event_types.OtherEvent)
        assert decoded.other == {}
        assert decoded.event_id == columns["EVENT_ID"]
        assert (
            msgspec.msgpack.decode(msgspec.msgpack.encode(decoded), type=type(decoded)) == decoded
        )


@pytest.mark.parametrize("log", LOGS)
def test_the_names_of_an_altered_table_are_read_without_the_rest(log: str) -> None:
    for row in notification_rows(log):
        if row.event_type == "ALTER_TABLE":
            altered = decode(row)
            assert isinstance(altered, event_types.AlterTable)
            assert names_of_altered_table(row) == (altered.before, altered.table)


@given(st.data())
def test_a_damaged_message_has_the_names_that_its_event_has_or_none(data: st.DataObject) -> None:
    rows = [row for row in notification_rows("one-writer") if row.event_type == "ALTER_TABLE"]
    real = data.draw(st.sampled_from(rows))
    start = data.draw(st.integers(0, len(real.message)))
    text = data.draw(st.text('0123456789{}[]":,\\etr', max_size=3))
    end = start + data.draw(st.integers(0, 3))
    damaged = msgspec.structs.replace(
        real, message=real.message[:start] + text + real.message[end:]
    )
    try:
        altered = decode(damaged)
    except EventError:
        with suppress(EventError):
            names_of_altered_table(damaged)
        return
    assert isinstance(altered, event_types.AlterTable)
    assert names_of_altered_table(damaged) == (altered.before, altered.table)


def test_both_formats_of_the_same_log_give_the_same_kinds() -> None:
    plain, zipped = (
        [type(decode(row)) for row in notification_rows(log)]
        for log in ("every-event-json", "every-event-gzip")
    )
    assert plain == zipped
    assert len(set(plain)) >= 25


@pytest.mark.parametrize("message_format", [None, "", PLAIN, GZIP, "gzip"])
def test_formats(message_format: str | None) -> None:
    sealed = messages.seal(
        messages.open_txn(3, 5), 7, GZIP if "gzip" in (message_format or "") else PLAIN
    )
    found = event("OPEN_TXN", sealed, message_format=message_format)
    assert found.ranges == ((3, 5),)


def test_a_created_table_has_what_the_fold_needs() -> None:
    decoded = event("CREATE_TABLE", messages.create_table(TABLE), cat_name="Cat")
    assert decoded.table == TableName("cat", "d", "t")
    image = decoded.image
    assert (image.id, image.transactional) == (12, True)
    assert image.partition_keys == ("ds", "hr")
    assert image.listed == ("MANAGED_TABLE", "me", "hello", 1)
    assert decoded.write_id == 3


def test_a_rename_has_both_names() -> None:
    message = messages.alter_table(TABLE, {**TABLE, "tableName": "U", "writeId": 4})
    decoded = event("ALTER_TABLE", message, tbl_name="u")
    assert decoded.renamed
    assert (decoded.before, decoded.table) == (D_T, TableName("hive", "d", "u"))
    assert (decoded.columns_changed, decoded.location_changed, decoded.truncate) == (
        False,
        False,
        False,
    )
    assert decoded.write_id == 4


def test_an_alter_says_what_it_may_have_rewritten() -> None:
    after = {**TABLE, "sd": {"cols": [{"name": "x", "type": "int"}], "location": "file:/x"}}
    found = event("ALTER_TABLE", messages.alter_table(TABLE, after, truncate=True))
    assert (found.columns_changed, found.location_changed, found.truncate) == (True, True, True)
    assert not found.renamed
    assert not found.partition_keys_changed


def test_one_row_may_hold_5000_partitions() -> None:
    added = [partition("2024-01-01", str(i)) for i in range(5_000)]
    decoded = event("ADD_PARTITION", messages.add_partition(TABLE, added))
    assert [p.values[1] for p in decoded.partitions] == [str(i) for i in range(5_000)]
    assert decoded.write_id == 3
    assert {p.write_id for p in decoded.partitions} == {-1}
    stored = decode_object(PARTITION, decoded.partitions[-1].data)
    assert (stored["writeId"], stored["dbName"]) == (-1, "d")
    assert decoded.table_before == event_types.TableBefore(12, True, ("ds", "hr"))


def test_partitions_that_were_not_altered_at_once_are_not_known() -> None:
    """Those among which one has an empty value."""
    for values, known in ((("a", "b"), True), (("a", ""), False), (("a", "a"), False)):
        altered = [partition(value, "1") for value in values]
        assert event("ALTER_PARTITIONS", messages.alter_partitions(TABLE, altered)).known is known


@pytest.mark.parametrize(
    ("descriptor", "known"),
    [
        ({}, True),
        ({"cols": [{"name": "a", "type": "T"}], "sortCols": [{"col": "a", "order": 1}]}, True),
        ({"cols": [{"name": "a", "type": "T"}, {"name": "aB", "type": "T"}]}, False),
        ({"sortCols": [{"col": "A", "order": 1}]}, False),
    ],
)
@pytest.mark.parametrize("location", ["file:/x", "file:/ü"], ids=["shared", "own"])
def test_alters_do_not_tell_whether_names_of_columns_keep_their_capitals(
    descriptor: dict[str, Any], known: bool, location: str
) -> None:
    plain = {"values": ["a", "1"], "dbName": "D", "tableName": "T", "parameters": {}}
    altered = {**plain, "sd": {"cols": [], "location": location, **descriptor}}
    together = event("ALTER_PARTITIONS", messages.alter_partitions(TABLE, [altered]))
    alone = event("ALTER_PARTITION", messages.alter_partition(TABLE, plain, altered))
    assert (together.known, alone.known) == (known, known)


@pytest.mark.parametrize("sent", [{}, {"catName": "other"}], ids=["none", "another"])
def test_altered_partitions_are_in_the_catalog_of_their_table(sent: dict[str, str]) -> None:
    before, after = {**partition("a", "1"), "catName": "spark"}, {**partition("a", "1"), **sent}
    together = event(
        "ALTER_PARTITIONS", messages.alter_partitions(TABLE, [after]), cat_name="spark"
    )
    alone = event(
        "ALTER_PARTITION", messages.alter_partition(TABLE, before, after), cat_name="spark"
    )
    for image in (*together.partitions, alone.partition):
        assert decode_object(PARTITION, image.data)["catName"] == "spark"


def test_dropped_values_come_in_the_order_of_the_columns() -> None:
    message = messages.drop_partition(TABLE, [["a", "1"]])
    message.partitions = [{"HR": "1", "ds": "a"}, {"hr": None, "ds": "b"}]
    found = event("DROP_PARTITION", message)
    assert found.values == (("a", "1"), ("b", "__HIVE_DEFAULT_PARTITION__"))


def test_a_partition_may_be_renamed() -> None:
    message = messages.alter_partition(TABLE, partition("a", "1"), partition("a", "2", write_id=8))
    found = event("ALTER_PARTITION", message)
    assert (found.before, found.partition.values, found.write_id) == (("a", "1"), ("a", "2"), 8)
    assert decode_object(PARTITION, found.partition.data)["writeId"] == 8


def test_a_foreign_key_belongs_to_the_child() -> None:
    key = {"pktable_db": "d", "pktable_name": "t", "fktable_db": "D", "fktable_name": "Child"}
    message = messages.add_constraints("ADD_FOREIGNKEY", [{**key, "fk_name": "fk1"}])
    decoded = event("ADD_FOREIGNKEY", message)
    assert decoded.table == TableName("hive", "d", "child")
    ((name, data),) = decoded.constraints
    assert (decoded.kind, name) == ("foreignKeys", "fk1")
    assert decode_object(FOREIGN_KEY, data)["fktable_name"] == "child"


@pytest.mark.parametrize(
    ("kind", "db", "table"),
    [
        ("ADD_PRIMARYKEY", "table_db", "table_name"),
        ("ADD_FOREIGNKEY", "fktable_db", "fktable_name"),
        ("ADD_NOTNULLCONSTRAINT", "table_db", "table_name"),
        ("ADD_CHECKCONSTRAINT", "table_db", "table_name"),
    ],
)
def test_constraints_of_several_tables_leave_all_in_doubt(kind: str, db: str, table: str) -> None:
    """The row names one of them."""
    of_table = [{db: "d", table: name} for name in ("t", "T")]
    assert event(kind, messages.add_constraints(kind, of_table)).table == TableName(
        "hive", "d", "t"
    )
    of_tables = [*of_table, {db: "d", table: "u"}]
    with pytest.raises(EventError, match="to 2 tables"):
        event(kind, messages.add_constraints(kind, of_tables))


def test_commits_have_write_ids_from_4_1_on() -> None:
    assert event("COMMIT_TXN", messages.commit_txn(4)).write_ids is None
    decoded = event("COMMIT_TXN", messages.commit_txn(4, [("D", 1), ("e", 2)]))
    assert decoded.write_ids == (("d", 1), ("e", 2))
    assert event("COMMIT_TXN", messages.commit_txn(4, [])).write_ids == ()
    assert event("ABORT_TXN", messages.abort_txn(4, ["D"])).write_ids is None
    assert event("ABORT_TXN", messages.abort_txn(4, ["D"], [7])).write_ids == (7,)


def test_transactions_begin_as_a_range_or_a_list() -> None:
    assert event("OPEN_TXN", '{"fromTxnId":3,"toTxnId":5}').ranges == ((3, 5),)
    assert event("OPEN_TXN", '{"txnIds":[3,5]}').ranges == ((3, 3), (5, 5))
    with pytest.raises(EventError, match="transactions 5 to 3"):
        event("OPEN_TXN", '{"fromTxnId":5,"toTxnId":3}')
    with pytest.raises(EventError, match="neither a range nor a list of transactions"):
        event("OPEN_TXN", "{}")


@pytest.mark.parametrize(("partition_text", "named"), [("ds=a/hr=1", "ds=a/hr=1"), ("", None)])
def test_a_write_of_a_transaction_names_its_table(partition_text: str, named: str | None) -> None:
    message = {"txnid": 4, "writeId": 9, "database": "D", "table": "T", "files": []}
    decoded = event("ACID_WRITE_EVENT", json.dumps({**message, "partition": partition_text}))
    assert (decoded.table, decoded.txn, decoded.write_id) == (D_T, 4, 9)
    assert decoded.partition == named


def test_catalogs() -> None:
    created = event("CREATE_CATALOG", '{"catalog":"Spark"}')
    assert (created.catalog, created.data) == ("spark", None)
    text = '{"1":{"str":"Spark"},"3":{"str":"/new"}}'
    message = {"catObjBeforeJson": '{"1":{"str":"Spark"}}', "catObjAfterJson": text}
    altered = event("ALTER_CATALOG", json.dumps(message))
    assert altered.catalog == "spark"
    assert decode_object(CATALOG, altered.data)["locationUri"] == "/new"


def test_a_foreign_key_without_columns_names_no_child() -> None:
    with pytest.raises(EventError, match="names no child"):
        event("ADD_FOREIGNKEY", messages.add_constraints("ADD_FOREIGNKEY", []))


def test_write_ids_are_allocated_to_the_table_that_the_row_or_the_message_names() -> None:
    message = messages.alloc_write_ids("d", "t", [(4, 1), (5, 2)])
    found = event("ALLOC_WRITE_ID_EVENT", message, db_name=None, tbl_name=None)
    assert (found.table, found.pairs) == (D_T, ((4, 1), (5, 2)))


def test_an_unknown_type_keeps_its_message() -> None:
    found = event("GRANT_PRIVILEGES", '{"db":"d","new":[1]}')
    assert found.other == {"db": "d", "new": [1]}
    assert (found.db_name, found.tbl_name, found.harmless) == ("D", "T", False)
    assert event("CREATE_ISCHEMA", "").harmless


def test_an_unknown_field_of_a_message_is_kept() -> None:
    found = event("OPEN_TXN", '{"fromTxnId":1,"toTxnId":1,"color":"red"}')
    assert found.other == {"color": "red"}


def test_an_unknown_field_of_an_object_is_in_its_bytes() -> None:
    text = '{"1":{"lst":["str",1,"a"]},"77":{"i64":5}}'
    message = {"db": "d", "table": "t", "tableObjJson": "{}", "partitionListJson": [text]}
    found = event("ADD_PARTITION", json.dumps(message))
    assert decode_object(PARTITION, found.partitions[0].data)["#77"].data == (5).to_bytes(8)


def test_control_characters_may_stand_unescaped() -> None:
    found = event("DROP_FUNCTION", '{"db":"d","functionName":"a\tb"}')
    assert found.function == "a\tb"


def zipped(data: bytes) -> str:
    # Without a time, which would name the tests of each process differently.
    return b64encode(gzip.compress(data, mtime=0)).decode()


BOMB = zipped(b'{"a":"' + b" " * 3_000_000 + b'"}')


@pytest.mark.parametrize(
    ("message", "message_format", "why"),
    [
        (BOMB, GZIP, "more than 1000000 bytes"),
        ('{"a":"' + " " * 1_000_000 + '"}', PLAIN, "more than 1000000 bytes"),
        (zipped(b'{"txnid":1}')[:-12], GZIP, "gzip|ends too early"),
        (zipped(b'{"txnid":1}')[:24], GZIP, "ends too early"),
        ("****", GZIP, "no gzip in base64"),
        (b64encode(b"no gzip").decode(), GZIP, "no gzip in base64"),
        (zipped(b'{"txnid":"\xff"}'), GZIP, "utf-8|UTF-8|no JSON"),
        ('{"txnid":1}', "xml", "format 'xml'"),
        ("", PLAIN, "no JSON"),
        ('{"txnid":1', PLAIN, "no JSON"),
        ("[1]", PLAIN, "Expected `object`"),
        ("null", PLAIN, "Expected `object`"),
        ("{}", PLAIN, "missing required field `txnid`"),
        ('{"txnid":"x"}', PLAIN, "Expected `int`"),
        ('{"txnid":-1}', PLAIN, "Expected `int` >= 0"),
        (f'{{"txnid":{2**62}}}', PLAIN, "Expected `int` <"),
        (f'{{"txnid":1,"writeIds":[{2**63}],"databases":["d"]}}', PLAIN, "Expected `int` <"),
        ('{"txnid":1,"writeIds":[1,2],"databases":["d"]}', PLAIN, "shorter|longer"),
        ("[" * 100_000 + "]" * 100_000, PLAIN, "levels"),
        ('{"a":' * 5_000 + "1" + "}" * 5_000, PLAIN, "levels"),
    ],
)
def test_a_row_that_cannot_be_read_is_named(message: str, message_format: str, why: str) -> None:
    with pytest.raises(EventError, match=rf"event 5 \(COMMIT_TXN\).*({why})") as caught:
        decode(row("COMMIT_TXN", message, message_format=message_format), 1_000_000)
    assert (caught.value.event_id, caught.value.event_type) == (5, "COMMIT_TXN")


def test_statistics_of_a_time_beyond_64_bits_are_named() -> None:
    real = next(r for r in rows("every-event-json") if "_COL_STAT_EVENT" in r["EVENT_TYPE"])
    message = re.sub(r'(\\"5\\":\{\\"i64\\":)\d+', rf"\g<1>{2**64}", real["MESSAGE"])
    assert message != real["MESSAGE"]
    with pytest.raises(EventError, match="more than 64 bits"):
        decode(row_from_json(json.dumps({**real, "MESSAGE": message})))


def with_objects(event_type: str, text: str) -> str:
    """A message of a type with this text for each object."""
    message: dict[str, Any] = {}
    for field in msgspec.structs.fields(MESSAGE_TYPES[event_type]):
        name = field.encode_name
        if "Json" in name:
            message[name] = [text] if "List" in name else text
        elif field.required:
            message[name] = [] if "partitions" in name or "Vals" in name else "x"
    return json.dumps(message)


# What a drop brings along is not read, or only for its id.
WITH_OBJECTS = [
    name
    for name, type_ in MESSAGE_TYPES.items()
    if not name.startswith("DROP_")
    and any("Json" in f.encode_name and f.required for f in msgspec.structs.fields(type_))
]


@pytest.mark.parametrize("event_type", WITH_OBJECTS)
@pytest.mark.parametrize("text", ["[]", '"x"', '{"1":[]}', '{"1":{"str":1}}', "nul", ""])
def test_objects_of_wrong_types_give_our_error(event_type: str, text: str) -> None:
    with pytest.raises(EventError, match=event_type):
        decode(row(event_type, with_objects(event_type, text)))


@given(
    st.sampled_from([*MESSAGE_TYPES, "NEW"]),
    st.text(max_size=30) | st.binary(max_size=30).map(lambda data: b64encode(data).decode()),
    st.sampled_from([None, PLAIN, GZIP, "other"]),
)
def test_nothing_but_our_error_comes_of_any_text(
    event_type: str, text: str, message_format: str | None
) -> None:
    try:
        found = decode(row(event_type, text, message_format=message_format))
    except EventError:
        return
    assert isinstance(found, event_types.OtherEvent)


def test_the_error_does_not_repeat_a_long_message() -> None:
    with pytest.raises(EventError) as caught:
        event("ADD_CHECKCONSTRAINT", with_objects("ADD_CHECKCONSTRAINT", f'{{"{"x" * 9999}":1}}'))
    assert len(str(caught.value)) < 400


@pytest.mark.parametrize("line", ["", "[]", "{}", '{"EVENT_ID":"1"}', '{"EVENT_ID":null}'])
def test_a_line_that_is_no_row_is_refused(line: str) -> None:
    with pytest.raises(InputError, match="not a row"):
        row_from_json(line)
