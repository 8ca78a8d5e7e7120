"""Two dashboards: an overview, and all metrics."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from metatide.monitoring.metric_families import CONNECTOR, Family, exported
from metatide.monitoring.panels import INTERVAL, Panel, Query, Row, dashboard
from metatide.monitoring.remedies import SECTIONS

UNITS: Final = {"seconds": "s", "ms": "ms", "bytes": "bytes"}
_RED: Final = (("red", 1.0),)


def dashboards() -> Mapping[str, dict[str, Any]]:
    """The dashboards by file name."""
    return {
        "metatide-overview.json": dashboard(
            "metatide-overview",
            "Metatide: overview",
            "Whether the cache is up to date, whether it answers, and who answers instead.",
            OVERVIEW,
        ),
        "metatide-metrics.json": dashboard(
            "metatide-metrics",
            "Metatide: all metrics",
            "Every metric with its remedy, as docs/metrics.md has them.",
            every_metric(exported()),
        ),
    }


def every_metric(families: Sequence[Family]) -> Iterator[Row]:
    """A row for each section, with a panel for each metric."""
    by_name = {family.name: family for family in families}
    for section in SECTIONS:
        panels = [_of(by_name[name], remedy) for name, remedy in section.remedies.items()]
        yield Row(section.title, panels)


def _of(family: Family, remedy: str) -> Panel:
    title = family.name.removeprefix("metatide_").replace("_", " ")
    unit = UNITS.get(family.name.rpartition("_")[2], "short")
    about = f"{sentence(family.doc)}\n\n{remedy}"
    if family.kind == "histogram":
        return Panel(title, _quantiles(family), unit, about)
    if family.kind == "counter":
        each = unit if unit == "short" else "Bps"
        return Panel(f"{title} a second", _rates(family), each, about)
    if family.name in _MOMENTS:
        return Panel(f"{title}: age", _gauges(family, "time() - "), "s", about)
    return Panel(title, _gauges(family), unit, about)


_MOMENTS: Final = frozenset(
    (
        "metatide_audit_disagreed_seconds",
        "metatide_audit_finished_seconds",
        "metatide_connect_failed_seconds",
        "metatide_connect_looked_seconds",
        "metatide_image_made_seconds",
        "metatide_loads_failed_seconds",
        "process_start_time_seconds",
    )
)
"""Gauges whose value is a point in time."""


def sentence(text: str) -> str:
    """The text with exactly one full stop at its end."""
    return f"{text.rstrip('.')}."


def _quantiles(family: Family) -> list[Query]:
    labels = ("le", *family.labels)
    rates = f"sum by ({', '.join(labels)}) (rate({family.name}_bucket[{INTERVAL}]))"
    legend = " ".join((*_legends(family.labels), ""))
    return [
        Query(f"histogram_quantile({share}, {rates})", f"{legend}p{round(share * 100)}")
        for share in (0.5, 0.99)
    ]


def _rates(family: Family) -> list[Query]:
    rate = f"rate({family.name}_total[{INTERVAL}])"
    labels = family.labels or ("instance",)
    return [Query(f"sum by ({', '.join(labels)}) ({rate})", " ".join(_legends(labels)))]


def _gauges(family: Family, before: str = "") -> list[Query]:
    labels = ("instance", *family.labels) if family.labels else ("instance",)
    expr = f"{before}max by ({', '.join(labels)}) ({family.name})"
    return [Query(expr, " ".join(_legends(labels)))]


def _legends(labels: Sequence[str]) -> list[str]:
    return [f"{{{{{label}}}}}" for label in labels]


def _share(of: str, among: str) -> str:
    return f"{of} / ({among})"


def _rate(series: str) -> str:
    return f"sum(rate({series}[{INTERVAL}]))"


OVERVIEW: Final = (
    Row(
        "Now",
        (
            Panel("Workers", [Query('sum(up{job="worker"})')], kind="stat", width=4),
            Panel("Connectors", [Query(f'sum(up{{job="{CONNECTOR}"}})')], kind="stat", width=4),
            Panel(
                "Shards that aren't live",
                [
                    Query(
                        "sum(max by (group) (metatide_topic_shards)"
                        ' - sum by (group) (metatide_shards{phase="live"}))'
                    )
                ],
                kind="stat",
                width=4,
                steps=_RED,
            ),
            Panel(
                "Age of the oldest missing event",
                [Query("max(metatide_missing_age_seconds)")],
                "s",
                description="Of those that the database has and the cache hasn't.",
                kind="stat",
                width=4,
                steps=(("orange", 10), ("red", 30)),
            ),
            Panel(
                "Load requests waiting",
                [Query("sum(metatide_load_requests_waiting)")],
                description="Loads of cold tables and lists that were requested and haven't come.",
                kind="stat",
                width=4,
            ),
            Panel(
                "Disagreements, a day",
                [Query("sum(increase(metatide_audit_disagreements_total[1d]))")],
                description="Found by audits in the background (`audit.every_s`); none is allowed.",
                kind="stat",
                width=4,
                steps=_RED,
            ),
        ),
    ),
    Row(
        "Answers",
        (
            Panel(
                "Answered by the cache",
                [
                    Query(
                        _share(
                            _rate('metatide_answers_total{source="cache"}'),
                            _rate("metatide_answers_total"),
                        ),
                        "HTTP",
                    ),
                    Query(
                        _share(
                            _rate('metatide_thrift_answers_total{source="cache"}'),
                            f"{_rate('metatide_thrift_answers_total')} + "
                            f"({_rate('metatide_thrift_relayed_total')} or vector(0))",
                        ),
                        "Thrift",
                    ),
                ],
                "percentunit",
            ),
            Panel(
                "Why not by the cache, a second",
                [
                    Query(
                        "sum by (reason) "
                        f'(rate(metatide_answers_total{{source="database"}}[{INTERVAL}]))',
                        "HTTP: {{reason}}",
                    ),
                    Query(
                        f"sum by (reason) (rate(metatide_thrift_relayed_total[{INTERVAL}]))",
                        "Thrift: {{reason}}",
                    ),
                ],
                description="What each reason means, and its remedy: docs/alerts.md, Reasons.",
            ),
            Panel(
                "How long answers took, 99 of 100",
                [
                    Query(
                        "histogram_quantile(0.99, sum by (le, source) "
                        f"(rate({name}_bucket[{INTERVAL}])))",
                        f"{how}: {{{{source}}}}",
                    )
                    for how, name in (
                        ("HTTP", "metatide_answer_seconds"),
                        ("Thrift", "metatide_thrift_seconds"),
                    )
                ],
                "s",
            ),
            Panel(
                "Connections of the Thrift server",
                [
                    Query("sum(metatide_thrift_connections)", "of clients"),
                    Query(
                        "sum by (kind) (metatide_thrift_upstream_connections)",
                        "to metastores: {{kind}}",
                    ),
                ],
            ),
        ),
    ),
    Row(
        "Freshness",
        (
            Panel(
                "From the log to the topic",
                [
                    Query("max by (instance) (metatide_connect_lag_ms)", "{{instance}}: lag"),
                    Query(
                        "1000 * histogram_quantile(0.99, sum by (le) "
                        f"(rate(metatide_connect_publish_seconds_bucket[{INTERVAL}])))",
                        "publishing, 99 of 100",
                    ),
                ],
                "ms",
            ),
            Panel(
                "From the topic to readers, 99 of 100",
                [
                    Query(
                        "histogram_quantile(0.99, sum by (le, instance) "
                        f"(rate(metatide_lag_seconds_bucket[{INTERVAL}])))",
                        "{{instance}}",
                    )
                ],
                "s",
            ),
            Panel(
                "Records to fold",
                [Query("max by (instance) (metatide_lag_records)", "{{instance}}")],
            ),
            Panel(
                "Since a connector read the log",
                [Query("min by (connector) (metatide_connector_quiet_seconds)", "{{connector}}")],
                "s",
            ),
        ),
    ),
    Row(
        "Trouble",
        (
            Panel(
                "Shards by what they do",
                [Query("sum by (phase) (metatide_shards)", "{{phase}}")],
            ),
            Panel(
                "Records that stop shards",
                [
                    Query(
                        "max by (shard, offset, reason) (metatide_unreadable_record)",
                        "shard {{shard}}, offset {{offset}}: {{reason}}",
                    )
                ],
            ),
            Panel(
                "What went wrong, an hour",
                [
                    Query(
                        f"sum by (kind) (increase(metatide_{who}_faults_total[1h]))",
                        f"{who}: {{{{kind}}}}",
                    )
                    for who in ("connect", "loads")
                ]
                + [Query("sum(increase(metatide_shard_faults_total[1h]))", "shards")],
                description="docs/connectors.md says what to do about each kind.",
            ),
            Panel(
                "Reads of the database a second",
                [
                    Query(
                        f"sum by (result) (rate(metatide_database_reads_total[{INTERVAL}]))",
                        "{{result}}",
                    ),
                    Query(
                        f"sum by (result) (rate(metatide_recent_reads_total[{INTERVAL}]))",
                        "within: {{result}}",
                    ),
                ],
            ),
            Panel(
                "Memory",
                [Query("max by (instance) (metatide_memory_bytes)", "{{instance}}")],
                "bytes",
            ),
            Panel(
                "Stores on disk",
                [Query("max by (instance) (metatide_store_bytes)", "{{instance}}")],
                "bytes",
            ),
            Panel(
                "Free on disk",
                [Query("min by (instance) (metatide_disk_free_bytes)", "{{instance}}")],
                "bytes",
            ),
        ),
    ),
)
