"""What events leave behind is what the metastore reads next, and what it answers in the end.

An image before a change was read by the metastore itself, so each is an answer in the middle of
the log; `state.json` holds those at its end.
"""

from typing import Any, NamedTuple

import pytest

from hive.events.decode import decode
from hive.events.event_types import (
    AddPartitions,
    AlterDatabase,
    AlterPartition,
    AlterPartitions,
    AlterTable,
    CreateDatabase,
    CreateFunction,
    CreateTable,
    DropPartitions,
    DropTable,
    Event,
    UpdatePartitionStatistics,
    UpdateTableStatistics,
)
from hive.events.row import NotificationRow
from hive.events.stored_objects import altered_database, altered_partition, altered_table
from hive.names import TableName
from hive.thrift.binary import encode, replaced
from hive.thrift.structs import DATABASE, FUNCTION, PARTITION, TABLE
from hive.thrift.tjson import loads, transcode
from tests.hive.events.logs import LOGS, notification_rows, state

ACCEPTED = {
    ("every-event-json", 88): "a truncate: both images are the one after it",
    ("every-event-gzip", 88): "a truncate: both images are the one after it",
    ("four-writers", 30): "two writers at once: the image before is older than event 28",
    ("four-writers", 148): "two writers at once: the drop had read the table before event 143",
    ("four-writers", 618): "two writers at once: the image before is older than event 616",
    ("four-writers", 754): "two writers at once: the image before is older than event 751",
    ("four-writers", 793): "two writers at once: event 754 had not overwritten event 751",
}
"""Images that differ from what the events before had left, and why. `AlterTable.before_data` is
there to notice them."""


class Mismatch(NamedTuple):
    event_id: int
    table: TableName


class Replay:
    """The images that a log leaves behind, and those that it was seen to differ from."""

    def __init__(self) -> None:
        self.tables: dict[TableName, bytes] = {}
        self.unknown_write_ids: set[TableName] = set()
        self.partitions: dict[tuple[TableName, tuple[str, ...]], bytes] = {}
        self.databases: dict[tuple[str, str], bytes] = {}
        self.functions: dict[tuple[str, str], bytes] = {}
        self.mismatches: list[Mismatch] = []
        self.compared = 0

    def apply(self, row: NotificationRow) -> None:
        event = decode(row)
        self._tables(event, row)
        self._partitions(event)
        if isinstance(event, CreateDatabase | AlterDatabase):
            self.databases[event.catalog, event.db] = event.data
        elif isinstance(event, CreateFunction):
            self.functions[event.db, event.function] = event.data

    def _tables(self, event: Event, row: NotificationRow) -> None:
        match event:
            case CreateTable():
                self.tables[event.table] = event.image.data
            case AlterTable():
                self._compare(event.event_id, event.before, event.before_data)
                self.tables[event.table] = event.image.data
                if not event.known:
                    self.unknown_write_ids.add(event.table)
                if event.renamed or event.columns_changed:
                    self._forget_partitions(event.before)
            case UpdateTableStatistics():
                assert event.image is not None
                self.tables[event.table] = event.image.data
                self.unknown_write_ids.discard(event.table)
            case DropTable():
                text = loads(row.message) if row.message_format == "json-0.2" else None
                if text is not None:
                    read = transcode(TABLE, text["tableObjJson"])
                    self._compare(event.event_id, event.table, read)
                self.tables.pop(event.table, None)
                self._forget_partitions(event.table)

    def _partitions(self, event: Event) -> None:
        match event:
            case AddPartitions() | AlterPartitions():
                for image in event.partitions:
                    self.partitions[event.table, image.values] = image.data
            case AlterPartition():
                self.partitions.pop((event.table, event.before), None)
                self.partitions[event.table, event.partition.values] = event.partition.data
            case DropPartitions():
                for values in event.values:
                    self.partitions.pop((event.table, values), None)
            case UpdatePartitionStatistics():
                key = (event.table, event.values)
                if key in self.partitions:
                    write_id = {"writeId": event.write_id} if event.write_id > 0 else {}
                    changes = {"parameters": event.parameters, **write_id}
                    self.partitions[key] = replaced(PARTITION, self.partitions[key], **changes)

    def _compare(self, event_id: int, table: TableName, read: bytes) -> None:
        ours = self.tables.pop(table, None)
        if ours is None:
            return
        if table in self.unknown_write_ids:
            ours, read = (replaced(TABLE, data, writeId=0) for data in (ours, read))
            self.unknown_write_ids.discard(table)
        self.compared += 1
        if ours != read:
            self.mismatches.append(Mismatch(event_id, table))

    def _forget_partitions(self, table: TableName) -> None:
        for key in [key for key in self.partitions if key[0] == table]:
            del self.partitions[key]


def replay(log: str) -> Replay:
    result = Replay()
    for row in notification_rows(log):
        result.apply(row)
    return result


@pytest.mark.parametrize("log", LOGS)
def test_each_image_before_a_change_is_what_the_events_had_left(log: str) -> None:
    result = replay(log)
    found = {(log, mismatch.event_id) for mismatch in result.mismatches}
    assert found == {key for key in ACCEPTED if key[0] == log}
    assert result.compared >= 5


@pytest.mark.parametrize("log", LOGS)
def test_what_a_log_leaves_is_what_the_metastore_answers(log: str) -> None:
    result, answers = replay(log), state(log)
    compared = 0
    for name, table in answers["tables"].items():
        ours = result.tables[TableName("hive", *name.split("."))]
        compared += 1
        assert ours == encode(TABLE, table), name
    for name, partitions in answers["partitions"].items():
        for partition in partitions.values():
            key = (TableName("hive", *name.split(".")), tuple(partition["values"]))
            if key in result.partitions:
                compared += 1
                assert result.partitions[key] == encode(PARTITION, partition), key
    for name, database in answers["databases"].items():
        if ("hive", name) in result.databases:
            compared += 1
            assert result.databases["hive", name] == encode(DATABASE, database)
    for name, function in answers["functions"].items():
        db, _, short = name.partition(".")
        compared += 1
        assert result.functions[db, short] == encode(FUNCTION, function)
    assert compared >= 6


def table(**fields: Any) -> dict[str, Any]:
    """A partitioned transactional table as parsed TJSON."""
    columns = fields.pop("columns", ["a"])
    parameters = fields.pop("parameters", {"transactional": "true"})
    keys = fields.pop("keys", ["ds"])
    listed = [{"1": {"str": name}, "2": {"str": "int"}} for name in columns]
    value: dict[str, Any] = {
        "7": {"rec": {"1": {"lst": ["rec", len(listed), *listed]}}},
        "8": {"lst": ["rec", len(keys), *({"1": {"str": k}, "2": {"str": "int"}} for k in keys)]},
        "9": {"map": ["str", "str", len(parameters), parameters]},
        "19": {"i64": fields.pop("write_id")},
    }
    return {**value, **fields}


@pytest.mark.parametrize(
    ("after", "renamed", "stored", "is_known"),
    [
        (table(write_id=9), False, 9, True),
        (table(write_id=-1), False, 4, True),
        (table(write_id=4), True, 4, True),
        (table(write_id=9), True, 4, True),
        (table(write_id=9, columns=["a", "b"]), False, 9, False),
        (table(write_id=9, columns=["b"]), False, 4, True),
        (table(write_id=9, columns=[]), False, 4, True),
        (table(write_id=9, parameters={}), False, 4, True),
        (table(write_id=3), False, 3, False),
        (table(write_id=3), True, 4, True),
    ],
)
def test_the_write_id_that_an_altered_table_keeps(
    after: dict[str, Any], renamed: bool, stored: int, is_known: bool
) -> None:
    before = table(write_id=4, **{"25": {"i64": 77}, "4": {"i32": 5}})
    value, is_certain = altered_table(before, after, renamed=renamed)
    assert value["19"] == {"i64": stored}
    assert is_certain is is_known
    assert value["25"] == {"i64": 77}
    assert value["4"] == {"i32": 5}


def test_an_unpartitioned_table_takes_the_write_id_with_any_change() -> None:
    before, after = table(write_id=4, keys=[]), table(write_id=9, keys=[], columns=["a", "b"])
    value, known = altered_table(before, after, renamed=True)
    assert (value["19"], known) == ({"i64": 9}, True)


def test_a_conversion_may_keep_the_write_id() -> None:
    before = table(write_id=0, parameters={}, keys=[])
    after = table(write_id=9, keys=[])
    assert not altered_table(before, after, renamed=False)[1]
    assert altered_table(before, table(write_id=0, keys=[]), renamed=False)[1]


@pytest.mark.parametrize(
    ("write_id", "transactional", "stored"), [(9, True, 9), (9, False, 4), (-1, True, 4)]
)
def test_the_write_id_that_an_altered_partition_keeps(
    write_id: int, transactional: bool, stored: int
) -> None:
    before, after = {"10": {"i64": 4}}, {"10": {"i64": write_id}}
    assert altered_partition(before, after, transactional=transactional)["10"] == {"i64": stored}


def test_a_database_takes_only_what_can_be_altered() -> None:
    before = {"1": {"str": "d"}, "2": {"str": "old"}, "4": {"map": ["str", "str", 0, {}]}}
    before |= {"6": {"str": "one"}, "7": {"i32": 2}, "9": {"i32": 5}, "10": {"str": "file:/m"}}
    after = {"1": {"str": "d"}, "2": {"str": " "}, "6": {"str": "other"}, "9": {"i32": 6}}
    assert altered_database(before, after) == {
        "1": {"str": "d"},
        "2": {"str": "old"},
        "6": {"str": "other"},
        "7": {"i32": 2},
        "9": {"i32": 5},
        "10": {"str": "file:/m"},
    }
