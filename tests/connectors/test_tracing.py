"""The trace of an event, which a connector begins and a shard ends."""

from collections.abc import Callable
from time import monotonic

from connectors.log.sql_source import SqlSource
from hive.events.row import NotificationRow
from hive.reader.engines import unpooled_engine
from processors.worker.traced_applier import TracedApplier
from state.records import encode
from state.store import MemoryStore
from tests.connectors.connector_runs import Log, connecting, new_topic, read_all
from tests.support.spans import Spans, said, trace_ids, tree


def test_row_publication_and_fold_of_an_event_are_linked_by_its_id(
    new_metastore_database: Callable[[], str], kafka_broker: str
) -> None:
    connector, worker, other = Spans(), Spans(), Spans(0.0)
    log = Log(unpooled_engine(new_metastore_database()))
    log.write(1, 2)
    topic = new_topic(kafka_broker, shards=1)
    with connecting(SqlSource(log.engine), topic, tracing=connector.tracing) as running:
        running.until_position(2)
        published = connector.take()
    appliers = [
        TracedApplier(MemoryStore(), each.tracing, topic.name, 0) for each in (worker, other)
    ]
    for message in read_all(topic):
        for applier in appliers:
            applier.add(message.offset, encode(message.record))
    assert not worker.take(), "nobody can read it yet"
    for applier in appliers:
        applier.commit()
    folded = worker.take()
    assert not other.take(), "it traces nothing"
    for event_id in (1, 2):
        of_event = [
            span
            for span in [*published, *folded]
            if (span.attributes or {})["metatide.event_id"] == event_id
        ]
        assert sorted(span.name for span in of_event) == ["fold", "publish", "row"]
        assert tree(of_event)["publish"] == "row"
        assert len(trace_ids(of_event)) == 1
        assert said(of_event, "fold")["shard"] == 0
        assert said(of_event, "row")["event_type"] == "COMMIT_TXN"
    assert len(trace_ids(folded)) == 2


def test_all_processes_trace_the_same_events() -> None:
    share = 0.25
    worker, connector = Spans(share).tracing, Spans(share).tracing
    sampled = [worker.is_sampled("events", 0, event_id) for event_id in range(1_000)]
    assert sampled == [connector.is_sampled("events", 0, event_id) for event_id in range(1_000)]
    assert 150 < sum(sampled) < 350
    unsent = Spans(0.0)
    nothing = unsent.tracing
    row = NotificationRow(1, 1, "INSERT", None, "d", "t", "{}", "json-0.2")
    assert nothing.published("events", 0, [row], monotonic()) is None
    assert not unsent.take()
    assert not any(nothing.is_sampled("events", 0, event_id) for event_id in range(1_000))
