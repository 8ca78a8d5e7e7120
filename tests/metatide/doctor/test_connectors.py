"""What the doctor says of connectors that were heard."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from hive.reader.engines import unpooled_engine
from hive.schema import Version, create
from metatide.doctor import Status, Target, connectors
from metatide.health import Heard
from state.records.heartbeats import Heartbeat
from tests.support.kafka.topics import new_topic

HEARD = Heard(
    Heartbeat(
        name="connector-1",
        host="meta-1",
        address="meta-1:8080",
        epoch=0,
        position=7,
        sequence=7,
        loads_waiting=0,
        leads=2,
        partitions=2,
        polled_s_ago=0.1,
    ),
    0.5,
)
TARGET = Target("127.0.0.1:1", "events", 2, None, None)


def test_a_topic_that_no_connector_has_made_is_no_fault(kafka_broker: str) -> None:
    topic = new_topic(kafka_broker, 2)
    finding = connectors.publishing(replace(TARGET, kafka=kafka_broker, topic=topic.name))
    assert (finding.status, finding.remedy) == (
        Status.UNCHECKED,
        "start one (metatide connect)",
    )
    assert "there is no topic" in finding.detail


@pytest.mark.parametrize(
    ("has_database", "has_tables", "where"),
    [(False, False, "event 7, leads"), (True, False, "event 7, leads"), (True, True, "7 of 0,")],
)
def test_what_is_published_is_compared_with_what_the_database_has(
    monkeypatch: pytest.MonkeyPatch,
    new_database: Callable[[], str],
    has_database: bool,
    has_tables: bool,
    where: str,
) -> None:
    monkeypatch.setattr(connectors, "hear_once", lambda _: [HEARD])
    url = new_database() if has_database else None
    if url is not None and has_tables:
        create(unpooled_engine(url), Version.V4_1)
    finding = connectors.publishing(replace(TARGET, database_url=url))
    assert finding.status is Status.OK
    assert finding.detail.startswith("connector-1 on meta-1 at event 7")
    assert where in finding.detail
