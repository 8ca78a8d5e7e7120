"""What the topic tells of the past: of one shard without Spark, and `metatide report` with it."""

import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
from click.testing import CliRunner

from connectors.publish.headers import Headers
from hive.names import TableName
from metatide.cli import root
from metatide.report_page import page
from processors.spark import history_rows
from processors.spark.history_rows import HistoryRow, _tell
from processors.spark.report import QUESTIONS, ReportResult
from state.records import (
    AnyRecord,
    Change,
    LoadBegin,
    LoadEnd,
    ResetTable,
    Scope,
    ScopeKind,
    Skip,
    encode,
)
from state.records.actions import AbortTxn, AllocateWriteIds, CommitTxn, CreateTable, DropTable
from state.records.objects import TableImage
from state.topic import Topic
from tests.support.engines.spark import USES_SPARK
from tests.support.kafka.topics import TopicWriter, log_records, new_topic

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

LOG = "every-event-json"
SHARDS = 2


class Row(NamedTuple):
    """As Spark's source gives it."""

    partition: int
    offset: int
    ms: int
    value: bytes
    headers: Headers | None = None


def history_of(records: list[AnyRecord]) -> list[HistoryRow]:
    topic = Topic("nowhere", "t", 1, id="id")
    rows = [Row(0, at, 1_000 * at, encode(record)) for at, record in enumerate(records)]
    return list(_tell(topic, 32 << 20, rows))


def test_events_and_transactions_are_those_of_the_records() -> None:
    [records] = log_records(LOG, 1).values()
    history = history_of(records)
    changes = [one for one in records if isinstance(one, Change) and one.actions]
    events = {row.event for row in history if row.kind == "event"}
    assert events == {one.upto for one in changes}
    sizes = sum(row.bytes for row in history if row.kind == "event")
    assert sizes == sum(len(encode(one)) for one in changes)
    txns = Counter((row.type, row.txn) for row in history if row.kind == "txn")
    expected = Counter[tuple[str, int | None]]()
    for action in (action for one in changes for action in one.actions):
        match action:
            case AllocateWriteIds(txns=ids):
                expected.update(("open", txn) for txn in ids)
            case CommitTxn(txn=txn):
                expected["committed", txn] += 1
            case AbortTxn(txn=txn):
                expected["aborted", txn] += 1
    assert txns == expected


def test_a_table_is_cold_from_its_begin_to_its_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(history_rows, "SLICE_RECORDS", 1)
    table, other = TableName("hive", "d", "t"), TableName("hive", "d", "other")
    scope = Scope(ScopeKind.TABLE, table)
    image = TableImage(table, 1, 0, managed=False, partitioned=False, data=b"")
    records: list[AnyRecord] = [
        Change(0, 0, 1, (CreateTable(image),)),
        LoadBegin(0, "load", scope),
        Change(0, 1, 2, (DropTable(other),)),
        LoadEnd(0, "load", scope, 4, 4, 0),
        Change(0, 2, 3),
        Change(0, 3, 4),
        LoadBegin(0, "again", scope),
    ]
    cold = [row for row in history_of(records) if row.kind == "cold"]
    assert [(one.table, one.reason, one.begin_ms, one.end_ms) for one in cold] == [
        ("t", "loading", 1_000, 3_000),
        ("t", "ahead", 3_000, 5_000),
        ("t", "loading", 6_000, 6_000),
    ]


def test_a_table_that_is_reset_is_cold_and_so_is_all_behind_a_gap() -> None:
    table = TableName("hive", "d", "t")
    image = TableImage(table, 1, 0, managed=False, partitioned=False, data=b"")
    created = Change(0, 0, 1, (CreateTable(image),))
    reset = history_of([created, ResetTable(0, 1, table, load=False)])
    assert [(row.table, row.begin_ms) for row in reset if row.kind == "cold"] == [("t", 1_000)]
    broken = history_of([created, Change(0, 7, 8)])
    assert [(row.table, row.begin_ms) for row in broken if row.kind == "cold"] == [("t", 1_000)]


def test_records_that_the_topic_has_lost_are_passed_over() -> None:
    table = TableName("hive", "d", "t")
    image = TableImage(table, 1, 0, managed=False, partitioned=False, data=b"")
    changes = [Change(0, event, event + 1, (CreateTable(image),)) for event in (0, 7)]
    rows = [Row(0, at, at, encode(each)) for at, each in zip((0, 5), changes, strict=True)]
    history = list(_tell(Topic("nowhere", "t", 1, id="id"), 32 << 20, rows))
    assert [row.event for row in history] == [1, 8]
    assert list(_tell(Topic("nowhere", "t", 1, id="id"), 32 << 20, [])) == []


def test_a_record_that_an_order_skips_tells_nothing(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 1)
    values = [encode(Change(0, 0, 1)), b"garbage", encode(Change(0, 1, 2)), encode(Skip(0, 1, 1))]
    writer = TopicWriter(topic)
    writer.write(0, values)
    writer.flush()
    rows = [Row(0, at, at, value) for at, value in enumerate(values)]
    assert list(_tell(topic, 32 << 20, rows)) == []


@pytest.mark.by_turns(4, of="Spark")
class TestReport:
    pytestmark = USES_SPARK

    def test_it_counts_what_the_log_holds(
        self, spark: "SparkSession", kafka_broker: str, tmp_path: Path
    ) -> None:
        topic = new_topic(kafka_broker, SHARDS)
        records = log_records(LOG, SHARDS)
        # In the order of events, as connectors do: how long transactions took is told by it.
        writer = TopicWriter(topic)
        changes = [
            (change_row.upto, shard, encode(change_row))
            for shard, rows in records.items()
            for change_row in rows
            if isinstance(change_row, Change)
        ]
        for _, shard, value in sorted(changes, key=lambda change: change[0]):
            writer.write(shard, [value])
        writer.flush()
        out = tmp_path / "report"
        options = ["--data-dir", str(tmp_path), "--kafka", topic.servers, "--out", str(out)]
        environment = {"METATIDE_KAFKA_TOPIC": topic.name, "METATIDE_STATE_MEMORY_MIB": "32"}
        result = CliRunner().invoke(root, ["report", *options], env=environment)
        assert result.exit_code == 0, result.output
        html = (out / "report.html").read_text()
        titles = re.findall("<h2>(.*?)</h2>", html)
        assert titles == [question.title for question in QUESTIONS]
        assert "http" not in html
        every = [one for of_shard in records.values() for one in of_shard]
        expected = {one.upto for one in every if isinstance(one, Change) and one.actions}
        events = spark.read.parquet(f"{out}/events")
        assert {row.event for row in events.collect()} == expected
        ended = {
            action.txn
            for record in every
            if isinstance(record, Change)
            for action in record.actions
            if isinstance(action, CommitTxn)
        }
        transactions = spark.read.parquet(f"{out}/transactions").collect()
        committed = {row.txn for row in transactions if row.state == "committed"}
        assert committed
        assert committed <= ended
        assert all(row.ms >= 0 for row in transactions if row.state != "open")


def test_the_page_escapes_names_and_draws_shares() -> None:
    rows: list[tuple[object, ...]] = [("<b>", 4, None), ("plain", 1, 2.5)]
    text = page("<topic>", 0, [ReportResult("A & B", ["name", "events", "ms_max"], rows)])
    assert "<b>" not in text
    assert "&lt;topic&gt;" in text
    assert "A &amp; B" in text
    assert re.findall(r'width="([\d.]+)"', text) == ["100.0", "25.0"]
    assert "1970-01-01 00:00:00 UTC" in text
