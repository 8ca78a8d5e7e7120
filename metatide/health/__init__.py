"""Whether the cache is late, and how its connectors are: the same for page, metrics, probes and
commands."""

from metatide.health.heartbeats import Heard, HeardConnectors, HeartbeatReader, hear_once
from metatide.health.report import ConnectorHealth, Health, combined, judge
from metatide.health.thresholds import Level, Thresholds
from metatide.health.watch import HealthWatch

__all__ = [
    "ConnectorHealth",
    "Health",
    "HealthWatch",
    "Heard",
    "HeardConnectors",
    "HeartbeatReader",
    "Level",
    "Thresholds",
    "combined",
    "hear_once",
    "judge",
]
