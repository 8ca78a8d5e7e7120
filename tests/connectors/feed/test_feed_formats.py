"""Lines of the feed, and the schemas that are published for them and for records."""

import json
from base64 import b64encode
from functools import cache
from pathlib import Path
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from connectors.feed.event_feed import GAP, FeedEvent
from connectors.feed.feed_formats import as_cloud_event, as_json, parse_position
from hive.errors import InputError
from hive.names import DatabaseName, table_name
from hive.thrift.binary import encode as encode_thrift
from hive.thrift.constraints import PRIMARY_KEY
from hive.thrift.splice import lacking_serde_details
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import DATABASE, FUNCTION, PARTITION, TABLE
from state.records import Change, LoadRows, Reset, Rows, Scope, ScopeKind, encode
from state.records.actions import (
    AnyAction,
    CommitTxn,
    DropPartitions,
    PutConstraints,
    PutDatabase,
    PutFunction,
    PutPartitions,
    PutTableStatistics,
    RenameTable,
    Side,
)
from state.records.codec import BODY
from state.records.objects import (
    ColumnStatisticsImage,
    ConstraintImage,
    ConstraintKind,
    DatabaseImage,
    FunctionImage,
    PartitionImage,
    TableImage,
)

DOCS = Path(__file__).parents[3] / "docs"
DB, NAME = DatabaseName("hive", "db"), table_name(None, "db", "t")
TABLE_IMAGE = TableImage(NAME, 1, 0, False, True, encode_thrift(TABLE, {"tableName": "t"}))
FIGURES = {"colName": "a", "colType": "string"}
KEY = {"table_name": "t", "column_name": "a", "key_seq": 1}
ACTIONS: tuple[AnyAction, ...] = (
    RenameTable(table_name(None, "db", "old"), TABLE_IMAGE, Side.BOTH),
    PutPartitions(
        NAME,
        3,
        (
            PartitionImage(("é",), 3, 7, encode_thrift(PARTITION, {"values": ["é"]})),
            PartitionImage(("untold",), 3, 7, b""),
        ),
        added=False,
    ),
    DropPartitions(NAME, (("a", "b"),)),
    PutTableStatistics(
        NAME,
        0,
        (
            ColumnStatisticsImage(
                None, "hive", "a", 0, 9, encode_thrift(COLUMN_STATISTICS_OBJ, FIGURES)
            ),
        ),
        None,
    ),
    PutConstraints(
        NAME,
        (ConstraintImage(ConstraintKind.PRIMARY_KEY, "pk", (encode_thrift(PRIMARY_KEY, KEY),)),),
    ),
    PutDatabase(DatabaseImage(DB, encode_thrift(DATABASE, {"name": "db"}))),
    PutFunction(DB, FunctionImage("f", encode_thrift(FUNCTION, {"functionName": "f"}))),
    CommitTxn(9, (("db", 3),)),
)


@cache
def schema(name: str) -> Draft202012Validator:
    return Draft202012Validator(json.loads((DOCS / name).read_text()))


def line(*actions: AnyAction) -> dict[str, Any]:
    event = FeedEvent((1, 42), "SOME_EVENT", 1_700_000_000_123, actions)
    return dict(json.loads(as_json(event)))


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: type(action).__name__)
def test_lines_conform_to_the_published_schema(action: AnyAction) -> None:
    event = FeedEvent((1, 42), "SOME_EVENT", 1_700_000_000_123, (action,))
    schema("feed.schema.json").validate(json.loads(as_json(event)))
    cloud_event = json.loads(as_cloud_event(event, "topic"))
    schema("feed.schema.json").validate(cloud_event)
    assert cloud_event["data"] == line(action)


def test_a_line_without_a_position_does_not_conform() -> None:
    wrong = {name: value for name, value in line().items() if name != "position"}
    assert not schema("feed.schema.json").is_valid(wrong)
    assert not schema("feed.schema.json").is_valid(wrong | {"position": "42"})


def test_objects_have_the_names_of_thrift() -> None:
    renamed, put, _, statistics, constraints, database, function, _ = line(*ACTIONS)["actions"]
    assert renamed["old"] == "hive.db.old"
    assert renamed["table"]["data"]["tableName"] == "t"
    assert [one["data"] and one["data"]["values"] for one in put["partitions"]] == [["é"], None]
    assert statistics["columns"][0]["data"]["colType"] == "string"
    [key] = constraints["constraints"]
    assert (key["kind"], key["name"]) == ("PRIMARY_KEY", "pk")
    assert key["columns"][0]["column_name"] == "a"
    assert database["database"]["data"]["name"] == "db"
    assert function["function"]["data"]["functionName"] == "f"


def test_a_partition_that_lacks_details_of_its_serde_is_told_like_any() -> None:
    data = lacking_serde_details(encode_thrift(PARTITION, {"values": ["a"]}))
    put = PutPartitions(NAME, 0, (PartitionImage(("a",), 0, 7, data),), added=True)
    [partition] = line(put)["actions"][0]["partitions"]
    assert partition["data"] == line(ACTIONS[1])["actions"][0]["partitions"][0]["data"] | {
        "values": ["a"]
    }


def test_what_only_the_fold_needs_is_left_out() -> None:
    renamed, put, *_ = line(*ACTIONS)["actions"]
    assert "sides" not in renamed
    assert "columns_hash" not in put["partitions"][0]


def test_a_gap_names_the_events_that_may_be_missing() -> None:
    gap = json.loads(as_json(FeedEvent((1, 42), GAP, 0, (), after=40)))
    schema("feed.schema.json").validate(gap)
    assert (gap["event"], gap["position"], gap["after"]) == ("GAP", "1:41-42", "1:40")


def test_the_feed_goes_on_where_a_line_stands() -> None:
    """Also behind a gap that ends at an event which another shard has."""
    events = [
        FeedEvent((1, 41), "TYPE", 0, ()),
        FeedEvent((1, 42), GAP, 0, (), after=40),
        FeedEvent((1, 42), "TYPE", 0, ()),
    ]
    ids = [json.loads(as_cloud_event(event, "topic"))["id"] for event in events]
    assert len({*ids}) == 3
    for index, text in enumerate(ids):
        assert [event for event in events if event.position > parse_position(text)] == (
            events[index + 1 :]
        )


@pytest.mark.parametrize("text", ["", "1", "1:", "1:2-", "1:-2", "-1:2", "1:2-3-4", "1:2 ", "1:٢"])
def test_what_no_line_has_is_no_position(text: str) -> None:
    with pytest.raises(InputError, match="bad position"):
        parse_position(text)


def test_a_cloud_event_has_a_subject_if_there_is_one() -> None:
    def subject(*actions: AnyAction) -> str | None:
        event = FeedEvent((1, 42), "SOME_EVENT", 0, actions)
        text: str | None = json.loads(as_cloud_event(event, "topic")).get("subject")
        return text

    assert subject(ACTIONS[2], ACTIONS[4]) == "hive.db.t"
    assert subject(PutDatabase(DatabaseImage(DB, b""))) == "hive.db"
    assert subject(PutFunction(DB, FunctionImage("f", b""))) == "hive.db"
    assert subject(ACTIONS[2], PutDatabase(DatabaseImage(DB, b""))) is None
    assert subject(CommitTxn(9, None)) is None


@pytest.mark.parametrize(
    "record",
    [
        Change(0, 1, 2, ACTIONS),
        Reset(3, 17),
        LoadRows(0, "id", Scope(ScopeKind.TABLE, NAME), 5, 0, Rows(tables=(TABLE_IMAGE,))),
    ],
    ids=lambda record: type(record).__name__,
)
def test_records_conform_to_the_published_schema(record: Any) -> None:
    stored = msgspec.msgpack.decode(encode(record)[BODY])
    plain = json.loads(msgspec.json.encode(stored, enc_hook=b64encode))
    schema("records.schema.json").validate(plain)
    assert not schema("records.schema.json").is_valid(["no such tag", *plain[1:]])
