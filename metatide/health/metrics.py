"""The health of the cache as metrics, by which alerts use the configured thresholds."""

from collections.abc import Callable, Iterator
from typing import Final

from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from metatide.health.report import Health

NOBODY: Final = "none"
"""The label where no connector is heard."""


class HealthMetrics(Collector):
    """Exports a health that others measure."""

    def __init__(self, health: Callable[[], Health], unheard_s: Callable[[], float]) -> None:
        self._health = health
        self._unheard_s = unheard_s

    def collect(self) -> Iterator[GaugeMetricFamily]:
        health = self._health()
        missing = GaugeMetricFamily(
            "metatide_missing_events",
            "Events that the database has and the live shards of this worker haven't.",
        )
        age = GaugeMetricFamily(
            "metatide_missing_age_seconds", "The age of the oldest of these events."
        )
        if health.missing_events is not None and health.missing_age_s is not None:
            missing.add_metric((), health.missing_events)
            age.add_metric((), health.missing_age_s)
        limits = GaugeMetricFamily(
            "metatide_age_limit_seconds",
            "The ages from which on something is late: health.amber_s and health.red_s.",
            labels=("level",),
        )
        limits.add_metric(("amber",), health.thresholds.amber_s)
        limits.add_metric(("red",), health.thresholds.red_s)
        quiet = GaugeMetricFamily(
            "metatide_connector_quiet_seconds",
            "How long ago a connector last read the log, as far as is known.",
            labels=("connector",),
        )
        leads = GaugeMetricFamily(
            "metatide_connector_leads",
            "Partitions of the signals topic whose requests a connector answers.",
            labels=("connector",),
        )
        for connector in health.connectors:
            who = f"{connector.name}@{connector.host}"
            quiet.add_metric((who,), connector.quiet_s)
            leads.add_metric((who,), connector.leads)
        if not health.connectors:
            quiet.add_metric((NOBODY,), self._unheard_s())
            leads.add_metric((NOBODY,), 0)
        yield from (missing, age, limits, quiet, leads)
