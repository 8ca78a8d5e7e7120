"""The topic's commands, `metatide events`, and the connector's own process, on a real broker."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result

from connectors import topic_admin
from connectors.log.sql_source import SqlSource
from connectors.publish import headers, tails
from connectors.publish.headers import RecordHeaders, RecordKind
from connectors.publish.producer import make_producer
from hive.errors import MetatideError
from metatide.cli import root
from metatide.cli.events import print_lines
from metatide.config import load
from metatide.demo.store import Store
from state.image import manifest as manifests
from state.image.manifest import Manifest
from state.records import Change, encode
from state.store import StorePosition
from state.store.families import shard_identity
from state.topic import Topic, TopicClient
from state.topic.client import topic_bounds
from state.topic.settings import REQUEST_TIMEOUT_S
from tests.connectors.connector_runs import connecting, new_topic, until
from tests.metatide.demo import workload_runs
from tests.support import local_http
from tests.support.processes import die_with_parent
from tests.support.silent_storage import SilentStorage


def invoke(events: Topic, *arguments: str) -> Result:
    environment = {
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": events.servers,
        "METATIDE_KAFKA_TOPIC": events.name,
        "METATIDE_KAFKA_PARTITIONS": str(events.shards),
    }
    return CliRunner().invoke(root, list(arguments), env=environment)


def test_a_topic_is_made_once_and_keeps_everything(kafka_broker: str) -> None:
    events = new_topic(kafka_broker, 3)
    assert json.loads(invoke(events, "topic", "create").stdout)["created"] is True
    assert json.loads(invoke(events, "topic", "create").stdout)["created"] is False
    shown = json.loads(invoke(events, "topic", "show").stdout)
    assert shown["settings"] == topic_admin.SETTINGS
    assert [one["shard"] for one in shown["partitions"]] == [0, 1, 2]


def test_another_number_of_partitions_is_refused(kafka_broker: str) -> None:
    events = new_topic(kafka_broker, 3)
    topic_admin.create(events)
    other = Topic(events.servers, events.name, 5)
    for arguments in (["topic", "create"], ["topic", "show"], ["events"]):
        began = time.monotonic()
        error = invoke(other, *arguments).exception
        assert time.monotonic() - began < REQUEST_TIMEOUT_S / 2, "nothing is waited for"
        assert "has 3 partitions, the configuration says 5" in str(error)


def test_a_topic_that_is_not_there_is_said(kafka_broker: str) -> None:
    assert "there is no topic" in str(invoke(new_topic(kafka_broker), "topic", "show").exception)


def test_dead_letters_are_those_of_no_table() -> None:
    nowhere = Topic("127.0.0.1:1", "events", 1)
    refused = invoke(nowhere, "events", "--dead-letters", "--table", "sales.orders").exception
    assert str(refused) == "--dead-letters shows all rows: leave out --table"


@pytest.mark.parametrize("end", [KeyboardInterrupt, BrokenPipeError])
def test_lines_end_without_a_word_when_nobody_wants_more(
    end: type[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    def lines() -> Iterator[str]:
        yield "first"
        raise end

    print_lines(lines())
    assert capsys.readouterr() == ("first\n", "")


def test_events_are_shown(new_metastore_database: Callable[[], str], kafka_broker: str) -> None:
    store, events = Store(new_metastore_database()), new_topic(kafka_broker, 1)
    workload_runs.write(store, 400)
    last = len(workload_runs.rows(store))
    with connecting(SqlSource(store.engine), events) as connector:
        connector.until_position(last)
    lines = invoke(events, "events", "--from", str(last)).stdout.splitlines()
    assert all(f", {last}]" in line or "OpenTransactions" in line for line in lines)
    everything = [
        json.loads(line) for line in invoke(events, "events", "--json").stdout.split("\n") if line
    ]
    [created] = [one for one in everything if one["event"] == "CREATE_TABLE"][:1]
    table = created["record"]["actions"][0]["table"]["name"].partition(".")[2]
    ours = invoke(events, "events", "--table", table).stdout.splitlines()
    assert 0 < len(ours) < len(everything)
    assert all(table in line for line in ours)


def test_changes_are_exported_in_the_order_of_the_log(
    new_metastore_database: Callable[[], str], kafka_broker: str
) -> None:
    store, events = Store(new_metastore_database()), new_topic(kafka_broker, 4)
    workload_runs.write(store, 400)
    with connecting(SqlSource(store.engine), events) as connector:
        connector.until_position(len(workload_runs.rows(store)))
    lines = exported(events)
    ids = [int(line["position"].removeprefix("0:")) for line in lines]
    assert ids == sorted(set(ids))
    types = {row.event_id: row.event_type for row in workload_runs.notification_rows(store)}
    assert [line["event"] for line in lines] == [types[event_id] for event_id in ids]
    silent = set(types.values()) - {line["event"] for line in lines}
    assert silent <= {"OPEN_TXN", "COMMIT_COMPACTION_EVENT", "INSERT"}
    created = next(line for line in lines if line["event"] == "CREATE_TABLE")
    [action] = created["actions"]
    assert action["type"] == "CreateTable"
    assert action["table"]["name"].endswith(f".{action['table']['data']['tableName']}")
    middle = len(lines) // 2
    assert exported(events, "--after", lines[middle]["position"]) == lines[middle + 1 :]
    cloud_events = exported(events, "--format", "cloudevents")
    assert [one["data"] for one in cloud_events] == lines
    assert cloud_events[lines.index(created)] == {
        "specversion": "1.0",
        "id": created["position"],
        "source": f"urn:metatide:topic:{TopicClient(events.servers, events.name).describe().id}",
        "type": "metatide.create_table",
        "subject": action["table"]["name"],
        "time": created["time"],
        "datacontenttype": "application/json",
        "data": created,
    }


def exported(events: Topic, *options: str) -> list[dict[str, Any]]:
    result = invoke(events, "topic", "export", *options)
    assert result.exception is None
    return [json.loads(line) for line in result.stdout.splitlines()]


def image(url: str, events: Topic, shard: int, offset: int, *, formats_later: int = 0) -> Path:
    """An image of nothing but its position."""
    identity = shard_identity(TopicClient(events.servers, events.name).describe(), shard)
    version = identity.format_version + formats_later
    identity = msgspec.structs.replace(identity, format_version=version)
    position = StorePosition(0, 1, offset)
    folder = Path(url) / identity.topic_id.replace("/", "_") / str(shard) / "manifests"
    folder.mkdir(parents=True, exist_ok=True)
    manifest = Manifest(identity=identity, position=position, exact="", made_s=0, files=())
    path = folder / manifest.name
    path.write_bytes(manifests.encode(manifest))
    return path


def test_what_no_image_needs_is_trimmed(kafka_broker: str, tmp_path: Path) -> None:
    events, images = new_topic(kafka_broker, 2), str(tmp_path)
    topic_admin.create(events)
    refused = invoke(events, "topic", "trim").exception
    assert "give the place of the images" in str(refused)
    producer = make_producer(events)
    for number in range(1_000):
        producer.produce(events.name, b"x", partition=number % 2)
    producer.flush()
    image(images, events, 0, 200)
    image(images, events, 0, 100)
    refused = invoke(events, "topic", "trim", "--images", images).exception
    assert "no image of shard 1" in str(refused)
    assert [bounds.first for bounds in topic_bounds(events).values()] == [0, 0]
    image(images, events, 1, 500)
    first_offsets = {"0": 100, "1": 500 - tails.WINDOW_RECORDS}
    for _ in range(2):
        trimmed = invoke(events, "topic", "trim", "--images", images)
        assert json.loads(trimmed.stdout) == {"first": first_offsets}


def test_what_images_of_other_releases_need_stays(kafka_broker: str, tmp_path: Path) -> None:
    """Without it, the other release couldn't begin from them any more."""
    events, images = new_topic(kafka_broker, 1), str(tmp_path)
    topic_admin.create(events)
    producer = make_producer(events)
    for _ in range(1_000):
        producer.produce(events.name, b"x", partition=0)
    producer.flush()
    image(images, events, 0, 300)
    image(images, events, 0, 400, formats_later=1)
    older = image(images, events, 0, 100, formats_later=-1)
    unknown = older.with_name("unknown.json")
    unknown.write_text('{"format": 99}')
    refused = invoke(events, "topic", "trim", "--images", images).exception
    assert "unknown.json is an image of another release" in str(refused)
    unknown.unlink()
    trimmed = invoke(events, "topic", "trim", "--images", images)
    assert json.loads(trimmed.stdout) == {"first": {"0": 100}}
    assert f"from offset 100 on for the image {older.name}" in trimmed.stderr
    older.unlink()
    trimmed = invoke(events, "topic", "trim", "--images", images)
    assert (json.loads(trimmed.stdout), trimmed.stderr) == ({"first": {"0": 300}}, "")


@pytest.mark.parametrize(
    "command", [("topic", "trim"), ("image", "list"), ("image", "restore"), ("image", "prune")]
)
def test_a_storage_that_does_not_answer_is_said_in_a_line(
    kafka_broker: str, tmp_path: Path, command: tuple[str, str]
) -> None:
    events = new_topic(kafka_broker, 1)
    topic_admin.create(events)
    options = ["--images", f"{SilentStorage.protocol}://images", "--data-dir", str(tmp_path)]
    error = invoke(events, *command, *options).exception
    assert isinstance(error, MetatideError), "which `main` prints"
    assert "the images at silent://images can't be read" in str(error)


def test_the_connector_tells_how_it_does(
    new_database: Callable[[], str], kafka_broker: str, tmp_path: Path
) -> None:
    url, events = new_database(), new_topic(kafka_broker, 2)
    workload_runs.write(Store(url), 20)
    environment = {
        **os.environ,
        "METATIDE_DATABASE_URL": url,
        "METATIDE_KAFKA_BOOTSTRAP_SERVERS": events.servers,
        "METATIDE_KAFKA_TOPIC": events.name,
        "METATIDE_KAFKA_PARTITIONS": str(events.shards),
        "METATIDE_DATA_DIR": str(tmp_path),
    }
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "metatide", "connect"],
        env=environment,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=die_with_parent(signal.SIGKILL),
    )
    assert process.stderr is not None
    try:
        lines = map(json.loads, process.stderr)
        address = next(f"http://{line['address']}" for line in lines if "address" in line)
        until(lambda: local_http.get(f"{address}/healthz").is_success)
        metrics = local_http.get(f"{address}/metrics").text
        assert "metatide_connect_lag_events 0.0" in metrics
        assert local_http.get(f"{address}/else").status_code == 404
        process.terminate()
        assert process.wait(30) == 0
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def test_kafkas_security_is_passed_through() -> None:
    environ = {
        "METATIDE_KAFKA_SECURITY_PROTOCOL": "sasl_ssl",
        "METATIDE_KAFKA_SASL_MECHANISM": "PLAIN",
        "METATIDE_KAFKA_SASL_USERNAME": "me",
        "METATIDE_KAFKA_SASL_PASSWORD": "hush",
        "METATIDE_KAFKA_SSL_CA_LOCATION": "/ca.pem",
    }
    assert load(environ=environ).config.kafka.security == {
        "security.protocol": "sasl_ssl",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "me",
        "sasl.password": "hush",
        "ssl.ca.location": "/ca.pem",
    }


def test_a_record_that_cannot_be_read_is_shown_and_passed_over(kafka_broker: str) -> None:
    events, head = new_topic(kafka_broker, 1), RecordHeaders(RecordKind.CHANGE, 0, 7, "ALTER_TABLE")
    topic_admin.create(events)
    producer = make_producer(events)
    for value in (encode(Change(0, 1, 2)), b"\x00garbage", encode(Change(0, 2, 3))):
        producer.produce(events.name, value, partition=0, headers=headers.write(head))
    producer.flush()
    readable, garbage = (
        json.loads(invoke(events, "topic", "record", "0", offset).stdout) for offset in "01"
    )
    assert (readable["type"], readable["reason"], readable["why"]) == ("Change", None, None)
    assert (garbage["type"], garbage["reason"]) == (None, "unknown_format")
    assert garbage["headers"] == {
        "kind": "change",
        "epoch": "0",
        "upto": "7",
        "event": "ALTER_TABLE",
    }
    assert garbage["excerpt"] == "\0garbage"
    for shard, offset, why in (("0", "3", "but not 3"), ("1", "0", "there is no shard 1")):
        assert why in str(invoke(events, "topic", "record", shard, offset).exception)
    shown = invoke(events, "events", "--json").stdout.splitlines()
    assert [json.loads(line)["offset"] for line in shown if line.startswith("{")] == [0, 2]
