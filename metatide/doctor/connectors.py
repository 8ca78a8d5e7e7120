"""Checks that connectors publish what the metastore writes."""

import time

from hive.errors import TopicError
from hive.reader import notification_log
from hive.schema import detect_followed, metadata
from metatide.doctor.database import snapshot
from metatide.doctor.finding import Finding, failed, ok, unchecked
from metatide.doctor.target import Target
from metatide.health import Health, Heard, Level, hear_once, judge
from query_api.latest.missing_events import Missing, MissingAge, log_start
from state.topic import Topic

_START = (
    "start one (metatide connect), or bring it back: its log and /healthz say what it waits for"
)


def publishing(target: Target) -> Finding:
    """Compares what the connectors have published with what the database has."""
    assert target.kafka is not None
    try:
        heard = hear_once(Topic(target.kafka, target.topic, target.partitions, target.security))
    except TopicError as error:
        return unchecked(str(error), "start one (metatide connect)")
    health = judge(heard, _missing(target, heard), target.thresholds, unheard_s=float("inf"))
    if health.level is not Level.GREEN:
        return failed("; ".join([*health.problems, *_each(health)]), _START)
    return ok("; ".join(_each(health)))


def _each(health: Health) -> list[str]:
    current = "" if health.event is None else f" of {health.event}"
    return [
        f"{each.name} on {each.host} at event {each.position}{current}, leads {each.leads} of "
        f"{each.partitions}"
        for each in health.connectors
    ]


def _missing(target: Target, heard: list[Heard]) -> Missing | None:
    """What the database has and no connector has published; None if that can't be read."""
    if target.database_url is None or not heard:
        return None
    furthest = max(heard, key=lambda each: (each.heartbeat.epoch, each.heartbeat.position))
    position = furthest.heartbeat.position
    began_s = time.monotonic()
    with snapshot(target) as connection:
        version = detect_followed(connection)
        if version is None:
            return None
        statement = notification_log.oldest_after(metadata(version), position)
        start = log_start(connection.execute(statement).all())
    return MissingAge().of(position, start, began_s)
