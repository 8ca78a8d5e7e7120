"""Holes, restored databases, other metastores, odd rows: found at once, and said."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest
import sqlalchemy as sa
from structlog.testing import LogCapture

from connectors.feed import topic_records
from connectors.log.last_event import LastEvent
from connectors.log.sql_source import SqlSource
from connectors.publish import tails
from connectors.publish.headers import RecordKind
from connectors.settings import Pace
from hive.events.column_limits import ColumnLimits, decode_as_stored
from hive.events.event_types import CommitTransaction, Event
from hive.events.row import NotificationRow
from hive.names import table_name
from hive.reader.engines import unpooled_engine
from metatide.demo.store import Store
from processors.fold import Fold
from state.records import Change, Reset
from state.records.actions import CommitTxn, DropConstraint, Undecodable
from state.topic import Topic
from state.topic.settings import RECORD_BYTES_MAX
from tests.connectors.connector_runs import (
    QUICK,
    Log,
    Message,
    assert_unbroken,
    changes,
    connecting,
    fold,
    publish,
    read,
    reset_now,
)
from tests.metatide.demo import workload_runs


def entry(said: LogCapture, event: str) -> dict[str, Any]:
    [found] = [one for one in said.entries if event in one["event"]]
    return dict(found)


def head_of(messages: list[Message], shard: int = 0) -> Any:
    """The head of a store that folded a shard's records."""
    return Fold(fold(messages, shard).transaction())._work.head


def resets(messages: list[Message]) -> dict[int, list[tuple[int, int]]]:
    found: dict[int, list[tuple[int, int]]] = {}
    for message in messages:
        if isinstance(message.record, Reset):
            found.setdefault(message.shard, []).append((message.record.epoch, message.record.at))
    return found


def test_a_log_that_begins_late_is_taken_from_where_it_begins(
    log: Log, topic: Topic, said: LogCapture
) -> None:
    log.write(41, 42)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(42)
    messages = read(topic)
    assert assert_unbroken(messages, topic, begin=40) == 42
    assert min(change.after for change in changes(messages, 0)) == 40
    assert connector.value("faults_total", kind="gap") == 0
    assert head_of(messages).floor == 40


def test_a_log_that_was_cleaned_to_the_last_row_is_taken_from_its_sequence(
    log: Log, topic: Topic
) -> None:
    log.set_next(90)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(89)
        log.write(90)
        connector.until_position(90)
    messages = read(topic)
    assert {one.after for one in changes(messages, 1)} == {89}
    assert head_of(messages, 1).floor == 89


def test_what_the_cleaner_took_is_a_floor_in_every_shard(
    log: Log, topic: Topic, said: LogCapture
) -> None:
    log.write(*range(1, 6))
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(5)
    log.write(*range(6, 21))
    log.delete(1, 12)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(20)
        assert connector.value("faults_total", kind="gap") == 1
        assert connector.value("failed_seconds", kind="gap") > 0
        assert connector.value("failed_seconds", kind="history") == 0
    missing = entry(said, "events are missing")
    assert (missing["first"], missing["last"]) == (6, 12)
    assert "timetolive" in missing["remedy"]
    messages = read(topic)
    assert resets(messages) == {}
    for shard in range(topic.shards):
        assert head_of(messages, shard).floor == 12
        assert head_of(messages, shard).applied == 20


def test_a_last_row_that_was_cleaned_is_no_reset(log: Log, topic: Topic) -> None:
    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(3)
        log.delete(1, 3)
        log.write(4)
        connector.until_position(4)
    messages = read(topic)
    assert resets(messages) == {}
    assert assert_unbroken(messages, topic) == 4


def test_a_row_that_is_late_is_waited_for(log: Log, topic: Topic) -> None:
    """As without a transactional listener, where ids aren't in the order of commits."""
    log.write(1)
    with connecting(SqlSource(log.engine), topic, Pace(gap_ms=60_000)) as connector:
        connector.until_position(1)
        log.write(3)
        connector.until(lambda: connector.value("lag_events") == 2)
        log.write(2)
        log.set_next(4)
        connector.until_position(3)
    assert assert_unbroken(read(topic), topic) == 3


def test_a_row_that_never_comes_is_a_floor(log: Log, topic: Topic, said: LogCapture) -> None:
    log.write(1, 3)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(3)
    assert "order of commits" in entry(said, "events are missing")["why"]
    assert head_of(read(topic)).floor == 2


def test_a_restored_database_begins_an_epoch(log: Log, topic: Topic, said: LogCapture) -> None:
    log.write(*range(1, 11))
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(10)
        log.restore(6)
        connector.until(lambda: tails.find(topic).epoch == 1)
        log.write(7)
        connector.until_position(7)
        assert connector.value("faults_total", kind="history") == 1
    assert "ids went back" in entry(said, "another history")["why"]
    messages = read(topic)
    assert resets(messages) == {0: [(1, 6)], 1: [(1, 6)]}
    assert head_of(messages).epoch == 1
    assert head_of(messages).applied == 7


def test_the_event_after_which_an_epoch_began_is_noticed_when_it_is_lost(
    log: Log, topic: Topic
) -> None:
    """Nobody has published it in the epoch, and loads end with it."""
    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(3)
        log.restore(2)
        connector.until(lambda: tails.find(topic).epoch == 1)
    log.restore(1)
    log.write(2, message='{"txnid":77}')
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until(lambda: tails.find(topic).epoch == 2)


def test_a_restored_database_that_went_on_is_noticed_by_its_rows(log: Log, topic: Topic) -> None:
    log.write(*range(1, 11))
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(10)
    log.restore(6)
    log.write(*range(7, 13), message='{"txnid":77}')
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until(lambda: tails.find(topic).epoch == 1)
        log.write(13)
        connector.until_position(13)
    assert resets(read(topic)) == {0: [(1, 12)], 1: [(1, 12)]}


def test_a_lost_event_is_found_behind_those_that_another_connector_published_since(
    log: Log, topic: Topic
) -> None:
    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(3)
    log.restore(2)
    log.write(3, 4, message='{"txnid":77}')
    source = SqlSource(log.engine)
    publish(topic, 4, source.hashes([4])[4])
    source.close()
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until(lambda: tails.find(topic).epoch == 1)


def test_a_row_that_is_gone_among_others_begins_an_epoch(log: Log, topic: Topic) -> None:
    log.write(*range(1, 6))
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(5)
        log.delete(5, 5)
        log.write(6)
        connector.until(lambda: tails.find(topic).epoch == 1)


def test_a_row_that_was_cleaned_before_a_younger_one_of_a_lower_id_begins_none(
    log: Log, topic: Topic
) -> None:
    """An event's time is taken before its id, and the cleaner goes by times."""
    log.write(1, EVENT_TIME=1_700_000_009)
    log.write(2, 3, EVENT_TIME=1_700_000_007)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(3)
        for _ in range(2):
            # The first may still be the one that published them.
            connector.until_another_step()
        log.delete(2, 3)
        log.write(4, EVENT_TIME=1_700_000_020)
        connector.until_position(4)
        assert tails.find(topic).epoch == 0
        log.delete(4, 4)
        log.write(5)
        connector.until(lambda: tails.find(topic).epoch == 1)


def test_another_metastore_behind_the_same_url_begins_an_epoch(
    log: Log, topic: Topic, new_metastore_database: Callable[[], str]
) -> None:
    log.write(*range(1, 6))
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(5)
    other = Log(unpooled_engine(new_metastore_database()))
    other.write(*range(1, 31), message='{"txnid":50}')
    with connecting(SqlSource(other.engine), topic, QUICK) as connector:
        connector.until(lambda: tails.find(topic).epoch == 1)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until(lambda: tails.find(topic).epoch == 2)


def test_an_epoch_that_only_some_shards_have_seen_is_begun_in_all(log: Log, topic: Topic) -> None:
    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(3)
    reset_now(topic, 1, LastEvent(3), [1])
    assert tails.find(topic).behind == (0,)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        log.write(4)
        connector.until_position(4)
    messages = read(topic)
    assert resets(messages) == {0: [(1, 3)], 1: [(1, 3)]}
    assert {head_of(messages, shard).epoch for shard in range(2)} == {1}


def test_an_epoch_that_no_connector_can_have_begun_is_not_followed(log: Log, topic: Topic) -> None:
    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(3)
        reset_now(topic, 1 << 62, LastEvent(1 << 61), range(topic.shards))
        log.write(4)
        connector.until_position(4)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        log.write(5)
        connector.until_position(5)
        assert connector.value("epoch") == 0
    messages = read(topic)
    for shard in range(topic.shards):
        assert head_of(messages, shard).epoch == 0
        assert head_of(messages, shard).applied == 5


def test_a_connector_follows_the_epoch_that_another_began(log: Log, topic: Topic) -> None:
    log.write(1, 2, 3)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(3)
        reset_now(topic, 1, LastEvent(3), range(topic.shards))
        connector.until(lambda: connector.value("epoch") == 1)
        log.write(4)
        connector.until_position(4)
    assert [one.epoch for one in changes(read(topic), 0) if one.upto == 4] == [1]


def test_what_another_published_of_a_lost_history_is_noticed(log: Log, topic: Topic) -> None:
    """One that was asleep compares the row that another, dead by now, published last."""
    log.write(*range(1, 6))
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(5)
    elsewhere = SqlSource(log.engine)
    with connecting(elsewhere, topic, QUICK) as asleep:
        asleep.until(lambda: asleep.value("position") == 5)
        log.write(6, 7)
        asleep.until_position(7)
        log.restore(5)
        log.write(6, 7, 8, message='{"txnid":99}')
        asleep.until(lambda: tails.find(topic).epoch == 1)


def test_rows_of_one_id_are_all_published(
    new_metastore_database: Callable[[], str], topic: Topic, said: LogCapture
) -> None:
    log = Log(unpooled_engine(new_metastore_database()), unique=False)
    log.write(1)
    log.write(2, message='{"txnid":21}')
    log.write(2, message='{"txnid":22}')
    log.write(3)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(3)
    assert entry(said, "more than once")["event_id"] == 2
    [both] = [one for one in changes(read(topic), 0) if one.upto == 2]
    assert both.actions == (CommitTxn(21, None), CommitTxn(22, None))


def test_rows_of_one_id_about_one_table_put_it_in_doubt(
    new_metastore_database: Callable[[], str], topic: Topic
) -> None:
    log = Log(unpooled_engine(new_metastore_database()), unique=False)
    for table in "ttu":
        names = {"DB_NAME": "db", "TBL_NAME": table}
        message = f'{{"dbName":"db","tableName":"{table}","constraintName":"c"}}'
        log.write(1, type_="DROP_CONSTRAINT", message=message, **names)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(1)
    messages = read(topic)
    records = [one for shard in range(topic.shards) for one in changes(messages, shard)]
    actions = {action for one in records for action in one.actions}
    t, u = (table_name(None, "db", table) for table in "tu")
    assert actions == {Undecodable(t), DropConstraint(u, "c")}


def test_a_second_row_of_a_published_id_begins_an_epoch(
    new_metastore_database: Callable[[], str], topic: Topic
) -> None:
    log = Log(unpooled_engine(new_metastore_database()), unique=False)
    log.write(1, 2)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(2)
        log.write(2, message='{"txnid":22}')
        connector.until(lambda: tails.find(topic).epoch == 1)


def test_a_listener_that_is_not_transactional_is_said(
    new_metastore_database: Callable[[], str], topic: Topic, said: LogCapture
) -> None:
    store = Store(new_metastore_database())
    workload_runs.write(store, 20)
    txns = store.metadata.tables["TXNS"]
    with connecting(SqlSource(store.engine), topic, QUICK) as connector:
        connector.until_position(len(workload_runs.rows(store)))
        assert connector.value("faults_total", kind="listener") == 0
        row = {
            "TXN_ID": 9_000,
            "TXN_STATE": "o",
            "TXN_STARTED": 1,
            "TXN_LAST_HEARTBEAT": 1,
            "TXN_USER": "u",
            "TXN_HOST": "h",
            "TXN_TYPE": 0,
        }
        with store.engine.begin() as connection:
            connection.execute(sa.insert(txns), [row, {**row, "TXN_ID": 9_001, "TXN_TYPE": 2}])
        connector.until(lambda: connector.value("faults_total", kind="listener") > 0)
    warnings = [one for one in said.entries if "no event tells of" in one["event"]]
    assert {tuple(one["transactions"]) for one in warnings} == {(9_000,)}
    assert "transactional.event.listeners" in warnings[0]["remedy"]


def test_an_event_that_cannot_be_read_is_set_aside(
    log: Log, topic: Topic, said: LogCapture
) -> None:
    names = {"CAT_NAME": "hive", "DB_NAME": "db", "TBL_NAME": "t"}
    log.write(1, type_="ADD_PARTITION", message='{"half', **names)
    log.write(2)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(2)
        assert connector.value("faults_total", kind="undecodable") == 1
    assert entry(said, "set aside")["event_id"] == 1
    messages = read(topic)
    assert assert_unbroken(messages, topic) == 2
    actions = [
        action
        for shard in range(2)
        for change in changes(messages, shard)
        if change.upto == 1
        for action in change.actions
    ]
    assert actions
    assert {type(action) for action in actions} == {Undecodable}
    [letter] = dead_letters(topic)
    assert (letter.event_id, letter.tbl_name, letter.message) == (1, "t", '{"half')
    assert list(topic_records.dead_letters(topic, from_event=2)) == []


def test_an_event_of_a_type_that_is_not_known_puts_everything_in_doubt(
    log: Log, topic: Topic, said: LogCapture
) -> None:
    log.write(1, type_="SWAP_TABLES", message="{}", DB_NAME="db", TBL_NAME="t")
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(1)
    assert "no event of this type is known" in entry(said, "set aside")["why"]
    messages = read(topic)
    for shard in range(topic.shards):
        [doubt] = [change for change in changes(messages, shard) if change.actions]
        assert doubt.actions == (Undecodable(None),)
    assert [letter.event_type for letter in dead_letters(topic)] == ["SWAP_TABLES"]


def test_an_event_too_large_for_a_record_is_set_aside(
    log: Log, topic: Topic, said: LogCapture
) -> None:
    large = "x" * (RECORD_BYTES_MAX + 1)
    message = (
        '{"db":"db","functionObjJson":"{\\"1\\":{\\"str\\":\\"f\\"},\\"2\\":{\\"str\\":\\"db\\"},'
        f'\\"3\\":{{\\"str\\":\\"{large}\\"}}}}"}}'
    )
    log.write(1, type_="CREATE_FUNCTION", message=message, DB_NAME="db")
    log.write(2)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(2)
    assert "larger than the topic allows" in entry(said, "set aside")["why"]
    messages = read(topic)
    assert assert_unbroken(messages, topic) == 2
    assert [one.actions for one in changes(messages, 0) if one.upto == 1] == [(Undecodable(None),)]


def test_an_event_that_makes_a_record_which_nobody_could_read_is_set_aside(
    log: Log, topic: Topic, said: LogCapture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def decode_laxly(row: NotificationRow, limits: ColumnLimits) -> Event:
        event = decode_as_stored(row, limits)
        if row.event_id > 1:
            return event
        assert isinstance(event, CommitTransaction)
        return msgspec.structs.replace(event, txn=1 << 63)

    monkeypatch.setattr("connectors.publish.event_writer.decode_as_stored", decode_laxly)
    log.write(1)
    log.write(2)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(2)
    assert "nobody could read" in entry(said, "set aside")["why"]
    messages = read(topic)
    assert assert_unbroken(messages, topic) == 2
    assert [one.actions for one in changes(messages, 0) if one.upto == 1] == [(Undecodable(None),)]
    assert [letter.event_id for letter in dead_letters(topic)] == [1]


def dead_letters(topic: Topic) -> list[NotificationRow]:
    return [
        msgspec.json.decode(one, type=NotificationRow) for one in topic_records.dead_letters(topic)
    ]


def test_a_database_without_a_metastore_is_waited_for(
    new_database: Callable[[], str], topic: Topic
) -> None:
    engine = unpooled_engine(new_database())
    with connecting(SqlSource(engine), topic, QUICK) as connector:
        connector.until(lambda: "no metastore's tables" in str(connector.status.waits_for))
        Log(engine).write(1)
        connector.until_position(1)
        assert connector.status.waits_for is None


def test_brokers_that_are_away_are_waited_for(log: Log, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("state.topic.creation.REQUEST_TIMEOUT_S", 0.2)
    away = Topic("127.0.0.1:1", "away", 2)
    with connecting(SqlSource(log.engine), away, QUICK) as connector:
        connector.until(lambda: connector.value("faults_total", kind="publish") > 1)
        assert "can't be created at 127.0.0.1:1" in str(connector.status.waits_for)


def test_impala_12561_a_connection_that_is_cut_is_made_again(log: Log, topic: Topic) -> None:
    log.write(1)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(1)
        with log.engine.begin() as connection:
            connection.execute(
                sa.text(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
                    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
                )
            )
        connector.until(lambda: connector.value("faults_total", kind="source") > 0)
        log.write(2)
        connector.until_position(2)
    assert assert_unbroken(read(topic), topic) == 2


def test_parts_of_a_large_event_come_before_its_end(log: Log, topic: Topic) -> None:
    kinds = {RecordKind.PART, RecordKind.CHANGE, RecordKind.PROGRESS, RecordKind.TRANSACTIONS}
    log.write(1)
    with connecting(SqlSource(log.engine), topic, QUICK) as connector:
        connector.until_position(1)
    assert {one.head.kind for one in read(topic)} <= kinds
    assert all(isinstance(one.record, Change) for one in read(topic) if one.head.moves)
