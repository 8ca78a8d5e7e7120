"""What an event becomes in the topic, or what becomes of one that can't be read."""

import json
from collections.abc import Iterator, Mapping
from typing import cast

import pytest

from connectors.log.listener import ListenerWatch
from connectors.log.source import Source
from connectors.metrics import Metrics
from connectors.publish.event_writer import EventWriter
from connectors.publish.publisher import Publisher
from hive.errors import UnwritableRecordError
from hive.events.column_limits import UNLIMITED, ColumnLimits
from hive.events.envelope import PLAIN
from hive.events.kept_characters import LATIN1
from hive.events.row import NotificationRow
from hive.names import table_name
from hive.thrift.binary import decode
from hive.thrift.statistics import COLUMN_STATISTICS_OBJ
from hive.thrift.structs import DATABASE
from hive.thrift.tjson import dumps
from metatide.demo import messages
from state.records.actions import AnyAction, CommitTxn, PutDatabase, PutTableStatistics, Undecodable

SHARDS = 8


class Written:
    """A publisher that notes what it is to write."""

    shards = SHARDS

    def __init__(self) -> None:
        self.events: dict[int, Mapping[int, tuple[AnyAction, ...]]] = {}
        self.letters: list[int] = []
        self.refusals: list[bool | UnwritableRecordError] = []
        """How the next events are refused."""

    def event(
        self,
        event_id: int,
        _type: str,
        _hash: bytes,
        _mark: int,
        routed: Mapping[int, tuple[AnyAction, ...]],
    ) -> bool:
        if self.refusals:
            refusal = self.refusals.pop()
            if isinstance(refusal, UnwritableRecordError):
                raise refusal
            return refusal
        self.events[event_id] = routed
        return True

    def dead_letter(self, row: NotificationRow) -> None:
        self.letters.append(row.event_id)


class Log:
    """A log in which no table was ever altered."""

    def __init__(self) -> None:
        self.alters_upto: list[int] = []
        self.limits = UNLIMITED

    def column_limits(self) -> ColumnLimits:
        return self.limits

    def alters(self, upto: int) -> Iterator[NotificationRow]:
        self.alters_upto.append(upto)
        return iter(())


@pytest.fixture
def written() -> Written:
    return Written()


@pytest.fixture
def log() -> Log:
    return Log()


@pytest.fixture
def metrics() -> Metrics:
    return Metrics()


@pytest.fixture
def writer(log: Log, written: Written, metrics: Metrics) -> EventWriter:
    publisher = cast(Publisher, written)
    return EventWriter(cast(Source, log), publisher, ListenerWatch(), metrics)


def write(writer: EventWriter, event_id: int, event_type: str, *messages: str) -> None:
    rows = [
        NotificationRow(event_id, 0, event_type, None, "db", "t", message, "json-0.2")
        for message in messages
    ]
    writer.write(event_id, rows, b"hash", 1)


def faults(metrics: Metrics, kind: str) -> float | None:
    return metrics.registry.get_sample_value("metatide_connect_faults_total", {"kind": kind})


@pytest.mark.parametrize("misses", [False, True])
def test_a_transaction_whose_tables_may_be_unknown_ends_in_every_shard(
    writer: EventWriter, written: Written, *, misses: bool
) -> None:
    write(writer, 1, "OPEN_TXN", '{"fromTxnId":7,"toTxnId":7}')
    if misses:
        writer.miss()
    write(writer, 2, "COMMIT_TXN", '{"txnid":7}')
    assert len(written.events[2]) == (SHARDS if misses else 0)


def test_events_are_read_under_the_names_of_what_was_altered_before_the_first(
    writer: EventWriter, log: Log
) -> None:
    for event_id in (5, 6):
        write(writer, event_id, "COMMIT_TXN", '{"txnid":7}')
    assert log.alters_upto == [4]


def test_an_event_that_can_not_be_read_is_set_aside(
    writer: EventWriter, written: Written, metrics: Metrics
) -> None:
    write(writer, 1, "CREATE_TABLE", "{half")
    assert written.letters == [1]
    assert faults(metrics, "undecodable") == 1
    actions = {action for actions in written.events[1].values() for action in actions}
    assert {type(action) for action in actions} == {Undecodable}


@pytest.mark.parametrize(
    "refusal",
    [
        pytest.param(False, id="too large"),
        pytest.param(UnwritableRecordError("nobody could read it"), id="unreadable"),
    ],
)
def test_an_event_whose_record_can_not_be_written_is_set_aside(
    writer: EventWriter, written: Written, refusal: bool | UnwritableRecordError
) -> None:
    written.refusals = [refusal]
    write(writer, 1, "COMMIT_TXN", '{"txnid":7}')
    assert written.letters == [1]
    assert set(written.events[1].values()) == {(Undecodable(table_name(None, "db", "t")),)}


def test_all_rows_of_an_event_are_written(
    writer: EventWriter, written: Written, metrics: Metrics
) -> None:
    write(writer, 1, "COMMIT_TXN", '{"txnid":7}', '{"txnid":8}')
    assert faults(metrics, "listener") == 1
    for actions in written.events[1].values():
        assert [action.txn for action in actions if isinstance(action, CommitTxn)] == [7, 8]


def test_texts_are_written_as_the_database_stores_them(
    writer: EventWriter, written: Written, log: Log
) -> None:
    log.limits = ColumnLimits({}, LATIN1)
    database = dumps(DATABASE, {"name": "db", "description": "é漢"})
    message = json.dumps({"db": "db", "dbJson": database}, ensure_ascii=False)
    write(writer, 1, "CREATE_DATABASE", message)
    actions = [action for actions in written.events[1].values() for action in actions]
    images = [action.database for action in actions if isinstance(action, PutDatabase)]
    assert {decode(DATABASE, image.data)["description"] for image in images} == {"é?"}


def test_statistics_are_written_as_the_database_rounds_them(
    writer: EventWriter, written: Written, log: Log
) -> None:
    log.limits = ColumnLimits({("TAB_COL_STATS", "AVG_COL_LEN"): 4}, None)
    sent = {"maxColLen": 9, "avgColLen": 2 / 3, "numNulls": 0, "numDVs": 1}
    column = {"colName": "v", "colType": "string", "statsData": {"stringStats": sent}}
    described = {"isTblLevel": True, "dbName": "db", "tableName": "t"}
    message = messages.update_table_stats(
        {"dbName": "db", "tableName": "t", "parameters": {}},
        {"statsDesc": described, "statsObj": [column]},
    )
    write(writer, 1, "UPDATE_TBL_COL_STAT_EVENT", messages.seal(message, 0, PLAIN))
    [action] = [one for actions in written.events[1].values() for one in actions]
    assert isinstance(action, PutTableStatistics)
    stored = decode(COLUMN_STATISTICS_OBJ, action.columns[0].data)
    assert stored["statsData"]["stringStats"] == {**sent, "avgColLen": 0.6667}
