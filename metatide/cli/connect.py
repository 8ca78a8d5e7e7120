"""`metatide connect`: runs the connector."""

import socket
import time
from functools import partial
from typing import TYPE_CHECKING

import click
import structlog

from connectors import health
from connectors.connector import Connector, Status
from connectors.heartbeat_sender import HeartbeatSender
from connectors.loads.loader import Loader, loads_engine
from connectors.loads.metrics import LoadMetrics
from connectors.log.sql_source import SqlSource
from connectors.metrics import Metrics
from connectors.publish.watermark import Watermark
from connectors.settings import Pace
from hive.reader.engines import unpooled_engine
from metatide.advertised import joined, reachable
from metatide.config import Config, Effective, configured
from metatide.process import logs
from metatide.process.garbage_collection import collect_seldom
from metatide.process.metrics import VERSION, process_metrics
from metatide.process.stop_signals import stopped_by_signals
from metatide.process.tracing import traced
from metatide.stack.running import database_url
from metatide.topic import events_topic
from processors.freed_memory import limit_freed_memory
from state.records.heartbeats import Heartbeat
from state.topic import Topic

if TYPE_CHECKING:
    from state.tracing import Tracing

log = structlog.get_logger(__name__)


@click.command()
@configured(
    "data_dir",
    "kafka.bootstrap_servers",
    "database.url",
    "connect.name",
    "connect.port",
    "connect.poll_interval_ms",
)
def command(effective: Effective) -> None:
    """Publish the metastore's events until Ctrl-C.

    Reads the notification log from the metastore's database and writes it to the events topic,
    which is created if it doesn't exist. The connector keeps no state of its own: it finds in the
    topic where to go on, so it may be killed at any time, and several may run. Without --kafka and
    --database it uses those of a running `metatide up`. It also loads from the database what
    workers request. /metrics and /healthz are served on --connect-port.
    """
    config = effective.config
    limit_freed_memory()
    logs.configure(config.log)
    url = database_url(config)
    events = events_topic(config)
    log.info(
        "a connector starts",
        name=config.connect.name,
        version=VERSION,
        topic=events.name,
        brokers=events.servers,
    )
    with traced(config, "metatide-connect") as tracing:
        _run(config, url, events, tracing)


def _run(config: Config, url: str, events: Topic, tracing: "Tracing | None") -> None:
    status, metrics = Status(), Metrics()
    process_metrics(metrics.registry)
    watermark = Watermark()
    engine = loads_engine(url)
    loader = Loader(engine, events, metrics=LoadMetrics(metrics.registry), watermark=watermark)
    connector = Connector(
        SqlSource(unpooled_engine(url)),
        events,
        pace=Pace(poll_interval_ms=config.connect.poll_interval_ms),
        metrics=metrics,
        status=status,
        on_epoch=loader.begin_epoch,
        requested_epoch=lambda: loader.requested_epoch,
        watermark=watermark,
        tracing=tracing,
    )

    collect_seldom()
    listening = health.serving(config.connect.host, config.connect.port, status, metrics.registry)
    with stopped_by_signals(connector.stop), listening as (host, port):
        address = joined(reachable(host, events.servers), port)
        log.info("listening", address=joined(host, port), advertised=address)
        heartbeats = HeartbeatSender(
            events, partial(_heartbeat, config.connect.name, address, status, loader)
        )
        heartbeats.start()
        try:
            connector.run()
        finally:
            heartbeats.stop()
            loader.stop()
            engine.dispose()
            log.info("a connector ended", name=config.connect.name)


def _heartbeat(name: str, address: str, status: Status, loader: Loader) -> Heartbeat:
    backlog, fault = loader.backlog, loader.fault
    loads_wait_for = str(fault) if backlog and fault is not None else None
    return Heartbeat(
        name=name,
        host=socket.gethostname(),
        address=address,
        epoch=status.epoch,
        position=status.position,
        sequence=status.sequence,
        polled_s_ago=time.monotonic() - status.polled_at,
        loads_waiting=backlog,
        loads_running=loader.running,
        partitions_loaded=loader.progress.partitions,
        leads=loader.leads,
        partitions=loader.partitions,
        fault=status.waits_for or loads_wait_for,
    )
