"""Alerts; each has a chapter of its name in docs/alerts.md."""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple, get_args

RUNBOOK: Final = "docs/alerts.md"
AT_ONCE: Final = "0s"
_SERIES: Final = re.compile(r"\b(up\b|metatide_\w+)(?:\{([^}]*)\})?")
_ANSWERS: Final = ("metatide_answers_total", "metatide_thrift_answers_total")
_RELAYED: Final = "metatide_thrift_relayed_total"
_MISSED: Final = f'{_RELAYED}{{reason!~"not_cached|relay_reads|shadow"}}'
"""Relayed calls that the cache might have answered."""
_NO_METASTORE: Final = 'metatide_thrift_refused_total{reason="upstream"}'
_REFUSED: Final = "metatide_refused_requests_total"
_FAULTS: Final = 'metatide_thrift_refused_total{reason=~"upstream|connections|failed"}'
"""Connections and calls over Thrift that end by no fault of the client."""

Part = Literal["connector", "worker", "serve", "reads"]
PARTS: Final[tuple[Part, ...]] = get_args(Part)


class Alert(NamedTuple):
    """One alert rule."""

    name: str
    part: Part
    """Whose metrics it looks at; reads are answered by workers and by `metatide serve`."""
    expr: str
    lasts: str
    """How long the condition must hold."""
    severity: Literal["critical", "warning", "info"]
    """`critical`: readers get no answers or wrong ones. `warning`: answers are slower, or will soon
    be critical. `info`: somebody forgot something."""
    summary: str


def _none_up(job: str) -> str:
    return f'sum(up{{job="{job}"}}) == 0 or absent(up{{job="{job}"}})'


def _in_the_last_hour(moment: str) -> str:
    """A counter can't tell it: what was counted before the first scrape is no increase. And an
    ended process still counts by what it exported."""
    return f"max(max_over_time({moment}[1h])) > time() - 3600"


def _fault(kind: str) -> str:
    return _in_the_last_hour(f'metatide_connect_failed_seconds{{kind="{kind}"}}')


def _rate(minutes: int, *series: str) -> str:
    """How often something is counted, by any of the series. No two of them have the same labels."""
    return f"sum({' or '.join(f'rate({each}[{minutes}m])' for each in series)})"


def _answers_for(reason: str) -> str:
    series = (*_ANSWERS, _RELAYED)
    return _rate(5, *(f'{each}{{reason="{reason}"}}' for each in series))


def _hits() -> str:
    return _rate(10, *(f'{each}{{source="cache"}}' for each in _ANSWERS))


def _old_images(job: str) -> str:
    return (
        f'time() - metatide_image_made_seconds{{job="{job}"}}'
        " > ignoring (shard) group_left () 3 * metatide_image_every_seconds"
    )


def _limit(level: str) -> str:
    """The configured age, as workers export it."""
    return f'scalar(max(metatide_age_limit_seconds{{level="{level}"}}))'


ALERTS: Final = (
    Alert(
        "WorkerDown",
        "worker",
        'up{job="worker"} == 0',
        "2m",
        "warning",
        "{{ $labels.instance }} is down",
    ),
    Alert(
        "WorkersDown",
        "worker",
        _none_up("worker"),
        "2m",
        "critical",
        "no worker runs: clients get no answers",
    ),
    Alert(
        "ShardWithoutOwner",
        "worker",
        "sum by (group) (metatide_shards) < max by (group) (metatide_topic_shards)",
        "2m",
        "warning",
        "{{ $value }} shards are held by any worker of {{ $labels.group }}, which isn't all",
    ),
    Alert(
        "ShardNotReady",
        "worker",
        'sum by (instance, phase) (metatide_shards{phase!="live"}) > 0',
        "10m",
        "warning",
        "{{ $value }} shards of {{ $labels.instance }} are {{ $labels.phase }}",
    ),
    Alert(
        "RecordUnreadable",
        "worker",
        "metatide_unreadable_record == 1",
        "1m",
        "warning",
        "shard {{ $labels.shard }} stops before offset {{ $labels.offset }}, which can't be read "
        "({{ $labels.reason }})",
    ),
    Alert(
        "ShardLag",
        "worker",
        "max by (instance, shard) (metatide_lag_records) > 10000",
        "5m",
        "warning",
        "shard {{ $labels.shard }} is {{ $value }} records behind",
    ),
    Alert(
        "LimitReached",
        "worker",
        "metatide_over_limit == 1",
        "1m",
        "warning",
        "{{ $labels.instance }} has no room, so it folds nothing",
    ),
    Alert(
        "DiskFills",
        "worker",
        "predict_linear(metatide_disk_free_bytes[1h], 4 * 3600) < 0",
        "30m",
        "warning",
        "the disk of {{ $labels.instance }} is full in four hours if this goes on",
    ),
    Alert(
        "ImagesOld",
        "worker",
        _old_images("worker"),
        "10m",
        "warning",
        "the last image of shard {{ $labels.shard }} is {{ $value | humanizeDuration }} old",
    ),
    Alert(
        "ServeDown",
        "serve",
        'up{job="serve"} == 0',
        "2m",
        "warning",
        "{{ $labels.instance }} is down",
    ),
    Alert(
        "ServedImagesOld",
        "serve",
        _old_images("serve"),
        "10m",
        "warning",
        "{{ $labels.instance }} answers from an image of shard {{ $labels.shard }} that is "
        "{{ $value | humanizeDuration }} old",
    ),
    Alert(
        "ConnectorDown",
        "connector",
        _none_up("connector"),
        "2m",
        "critical",
        "no connector runs: the cache gets no new events",
    ),
    Alert(
        "ConnectorsSilent",
        "worker",
        f"min(metatide_connector_quiet_seconds) > {_limit('red')}",
        AT_ONCE,
        "critical",
        "no connector has read the log for {{ $value | humanizeDuration }}",
    ),
    Alert(
        "ConnectorSilent",
        "worker",
        f"min by (connector) (metatide_connector_quiet_seconds) > {_limit('amber')}",
        AT_ONCE,
        "warning",
        "{{ $labels.connector }} hasn't read the log for {{ $value | humanizeDuration }}",
    ),
    Alert(
        "EventsStuck",
        "worker",
        f"max(metatide_missing_age_seconds) > {_limit('red')}",
        AT_ONCE,
        "critical",
        "the database has had events for {{ $value | humanizeDuration }} that the cache lacks",
    ),
    Alert(
        "EventsLate",
        "worker",
        f"max(metatide_missing_age_seconds) > {_limit('amber')}",
        AT_ONCE,
        "warning",
        "the database has had events for {{ $value | humanizeDuration }} that the cache lacks",
    ),
    Alert(
        "LogLost",
        "connector",
        _fault("gap"),
        AT_ONCE,
        "critical",
        "events were missing in the log: everything is loaded again",
    ),
    Alert(
        "OtherHistory",
        "connector",
        _fault("history"),
        AT_ONCE,
        "critical",
        "the log tells another history: everything is loaded again when it is read",
    ),
    Alert(
        "ListenerNotTransactional",
        "connector",
        _fault("listener"),
        AT_ONCE,
        "critical",
        "the metastore writes events beside its transactions: some may be lost",
    ),
    Alert(
        "DeadLetters",
        "connector",
        _fault("undecodable"),
        AT_ONCE,
        "warning",
        "events couldn't be read and were set aside",
    ),
    Alert(
        "LoadsFail",
        "connector",
        'sum by (kind) (increase(metatide_loads_faults_total{kind!="refused"}[10m])) > 3',
        "5m",
        "warning",
        "loads fail for the {{ $labels.kind }}",
    ),
    Alert(
        "LoadsGivenUp",
        "connector",
        _in_the_last_hour('metatide_loads_failed_seconds{kind="refused"}'),
        AT_ONCE,
        "warning",
        "something can't be loaded; the connector's log names it",
    ),
    Alert(
        "LoadsInVain",
        "connector",
        "sum(increase(metatide_loads_vain_total[1h])) > 3",
        AT_ONCE,
        "warning",
        "loads are asked for as of events that the log doesn't have",
    ),
    Alert(
        "StaysCold",
        "worker",
        "metatide_load_requests_oldest_seconds > 1800",
        "1m",
        "warning",
        "{{ $labels.instance }} has waited for a load for {{ $value | humanizeDuration }}",
    ),
    Alert(
        "DatabaseFails",
        "reads",
        'sum(rate(metatide_database_reads_total{result!="answered"}[5m]))'
        " / sum(rate(metatide_database_reads_total[5m])) > 0.05",
        "5m",
        "critical",
        "{{ $value | humanizePercentage }} of the reads that need the database fail",
    ),
    Alert(
        "MetastoresFail",
        "worker",
        f"{_rate(5, _NO_METASTORE)} / {_rate(5, _NO_METASTORE, _RELAYED)} > 0.05",
        "5m",
        "critical",
        "{{ $value | humanizePercentage }} of the calls that need a metastore fail",
    ),
    Alert(
        "RequestsFail",
        "reads",
        _rate(5, f'{_REFUSED}{{status=~"5.."}}', _FAULTS)
        + f" / {_rate(5, _REFUSED, _FAULTS, _RELAYED, *_ANSWERS)} > 0.01",
        "5m",
        "critical",
        "{{ $value | humanizePercentage }} of all requests and calls fail",
    ),
    Alert(
        "FewHits",
        "reads",
        f"({_hits()} or vector(0)) / {_rate(10, *_ANSWERS, _MISSED)} < 0.5",
        "30m",
        "info",
        "only {{ $value | humanizePercentage }} of all answers come from the cache",
    ),
    Alert(
        "Paused",
        "reads",
        f"{_answers_for('paused')} > 0",
        "1h",
        "info",
        "an operator paused the cache an hour ago",
    ),
    Alert(
        "Rewound",
        "reads",
        f"{_answers_for('rewound')} > 0",
        "10m",
        "warning",
        "shards are of another history than the database, or than each other",
    ),
    Alert(
        "PeerUnproved",
        "worker",
        "sum by (instance) (increase(metatide_unproved_answers_total[10m])) > 0",
        "5m",
        "warning",
        "{{ $labels.instance }} was answered by somebody without the workers' secret",
    ),
    Alert(
        "ShadowDifferent",
        "worker",
        'sum by (method) (metatide_thrift_shadowed_total{outcome="different"}) > 0',
        AT_ONCE,
        "warning",
        "the cache would have answered {{ $value }} calls of {{ $labels.method }} differently",
    ),
    Alert(
        "Disagreement",
        "worker",
        _in_the_last_hour("metatide_audit_disagreed_seconds"),
        AT_ONCE,
        "critical",
        "an audit found objects that differ from the database",
    ),
    Alert(
        "AuditsFail",
        "worker",
        "time() - metatide_audit_finished_seconds > 3 * (metatide_audit_every_seconds > 0)",
        "10m",
        "warning",
        "no audit of {{ $labels.instance }} has succeeded for {{ $value | humanizeDuration }}",
    ),
)


def rules(*matchers: str) -> Mapping[str, Any]:
    """The file of rules for Prometheus, in a group for each part, so that those of what doesn't run
    can be left out. They look only at series that match these, too.
    """
    return {
        "groups": [
            {
                "name": f"metatide-{part}",
                "rules": [_rule(alert, matchers) for alert in ALERTS if alert.part == part],
            }
            for part in PARTS
        ]
    }


def _rule(alert: Alert, matchers: Sequence[str]) -> dict[str, Any]:
    name = f"Metatide{alert.name}"

    def narrowed(series: re.Match[str]) -> str:
        return f"{series[1]}{{{','.join(filter(None, (series[2], *matchers)))}}}"

    return {
        "alert": name,
        "expr": _SERIES.sub(narrowed, alert.expr) if matchers else alert.expr,
        **({} if alert.lasts == AT_ONCE else {"for": alert.lasts}),
        "labels": {"severity": alert.severity},
        "annotations": {"summary": alert.summary, "runbook": f"{RUNBOOK}#{name.lower()}"},
    }
