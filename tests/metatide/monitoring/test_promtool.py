"""The alert rules, the configuration and the queries of the panels in Prometheus' own hands."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from metatide.monitoring.alerts import ALERTS
from metatide.monitoring.dashboards import dashboards
from metatide.monitoring.panels import INTERVAL
from tests.support.checkout import ROOT

pytestmark = pytest.mark.promtool
PROMETHEUS = ROOT / "compose" / "prometheus"
CONNECTOR = 'job="connector",instance="connector:8080"'
WORKER = 'job="worker",instance="worker-1:8080"'
SERVE = 'job="serve",instance="serve:8080"'
OTHER = 'job="worker",instance="worker-2:8080"'
HOUR = 60
ANSWERED = f'metatide_thrift_answers_total{{{WORKER},method="get_table"'
RELAYED = f'metatide_thrift_relayed_total{{{WORKER},method="get_table"'
AT_START = "_x10 600x170"
"""A moment, in a series that begins with it."""
Series = dict[str, str]

LIMITS: Series = {
    f'metatide_age_limit_seconds{{{WORKER},level="{level}"}}': f"{limit_s}x60"
    for level, limit_s in (("amber", 10), ("red", 30))
}

# What makes each of them fire, and what is as it should be; one value a minute.
EXAMPLES: dict[str, tuple[Series, Series]] = {
    "WorkerDown": ({f"up{{{WORKER}}}": "0x60"}, {f"up{{{WORKER}}}": "1x60"}),
    "WorkersDown": (
        {f"up{{{WORKER}}}": "1x9 stale", f"up{{{CONNECTOR}}}": "1x60"},
        {f"up{{{WORKER}}}": "0x60", f"up{{{OTHER}}}": "1x60"},
    ),
    "ShardWithoutOwner": (
        {
            f'metatide_shards{{{WORKER},group="old",phase="live"}}': "15x60",
            f'metatide_topic_shards{{{WORKER},group="old"}}': "16x60",
            f'metatide_shards{{{OTHER},group="new",phase="live"}}': "16x60",
            f'metatide_topic_shards{{{OTHER},group="new"}}': "16x60",
        },
        {
            f'metatide_shards{{{WORKER},group="new",phase="live"}}': "10x60",
            f'metatide_shards{{{OTHER},group="new",phase="failed"}}': "6x60",
            f'metatide_topic_shards{{{WORKER},group="new"}}': "16x60",
        },
    ),
    "ShardNotReady": (
        {f'metatide_shards{{{WORKER},phase="failed"}}': "1x60"},
        {
            f'metatide_shards{{{WORKER},phase="failed"}}': "1x5 0x55",
            f'metatide_shards{{{WORKER},phase="live"}}': "1x60",
        },
    ),
    "RecordUnreadable": (
        {f'metatide_unreadable_record{{{WORKER},shard="3",offset="7",reason="empty"}}': "1x60"},
        {f'metatide_unreadable_record{{{WORKER},shard="3",offset="7",reason="empty"}}': "1x9 _x50"},
    ),
    "ShardLag": (
        {f'metatide_lag_records{{{WORKER},shard="3"}}': "20000x60"},
        {f'metatide_lag_records{{{WORKER},shard="3"}}': "20000x2 0x58"},
    ),
    "LimitReached": (
        {f"metatide_over_limit{{{WORKER}}}": "1x60"},
        {f"metatide_over_limit{{{WORKER}}}": "0x60"},
    ),
    "DiskFills": (
        {f"metatide_disk_free_bytes{{{WORKER}}}": "100000000000-600000000x100"},
        {f"metatide_disk_free_bytes{{{WORKER}}}": "100000000000-1000000x100"},
    ),
    **{
        name: (
            {
                f"metatide_image_every_seconds{{{who}}}": "1200x90",
                f'metatide_image_made_seconds{{{who},shard="0"}}': "0x90",
            },
            {
                f"metatide_image_every_seconds{{{who}}}": "1500x90",
                f'metatide_image_made_seconds{{{who},shard="0"}}': "0x90",
            },
        )
        for name, who in (("ImagesOld", WORKER), ("ServedImagesOld", SERVE))
    },
    "ServeDown": ({f"up{{{SERVE}}}": "0x60"}, {f"up{{{SERVE}}}": "1x60"}),
    "ConnectorDown": (
        {f"up{{{CONNECTOR}}}": "0x60"},
        {f"up{{{CONNECTOR}}}": "0x60", 'up{job="connector",instance="other:8080"}': "1x60"},
    ),
    "ConnectorsSilent": (
        LIMITS
        | {
            f'metatide_connector_quiet_seconds{{{WORKER},connector="a@x"}}': "31x60",
            f'metatide_connector_quiet_seconds{{{WORKER},connector="b@y"}}': "99x60",
        },
        LIMITS
        | {
            f'metatide_connector_quiet_seconds{{{WORKER},connector="a@x"}}': "29x60",
            f'metatide_connector_quiet_seconds{{{WORKER},connector="b@y"}}': "99x60",
        },
    ),
    "ConnectorSilent": (
        LIMITS
        | {
            f'metatide_connector_quiet_seconds{{{WORKER},connector="a@x"}}': "0x60",
            f'metatide_connector_quiet_seconds{{{WORKER},connector="b@y"}}': "11x60",
        },
        LIMITS
        | {
            f'metatide_connector_quiet_seconds{{{WORKER},connector="a@x"}}': "9x60",
            f'metatide_connector_quiet_seconds{{{OTHER},connector="a@x"}}': "99x60",
        },
    ),
    **{
        name: (
            LIMITS | {f"metatide_missing_age_seconds{{{WORKER}}}": f"{limit_s + 1}x60"},
            LIMITS | {f"metatide_missing_age_seconds{{{WORKER}}}": f"{limit_s - 1}x60"},
        )
        for name, limit_s in (("EventsLate", 10), ("EventsStuck", 30))
    },
    **{
        name: (
            {f'metatide_connect_failed_seconds{{{CONNECTOR},kind="{kind}"}}': AT_START},
            {f'metatide_connect_failed_seconds{{{CONNECTOR},kind="{other}"}}': AT_START},
        )
        for name, kind, other in (
            ("LogLost", "gap", "history"),
            ("OtherHistory", "history", "gap"),
            ("ListenerNotTransactional", "listener", "source"),
            ("DeadLetters", "undecodable", "publish"),
        )
    },
    "LoadsFail": (
        {f'metatide_loads_faults_total{{{CONNECTOR},kind="source"}}': "0+1x60"},
        {f'metatide_loads_faults_total{{{CONNECTOR},kind="source"}}': "0 1x59"},
    ),
    "LoadsGivenUp": (
        {f'metatide_loads_failed_seconds{{{CONNECTOR},kind="refused"}}': AT_START},
        {f'metatide_loads_failed_seconds{{{CONNECTOR},kind="source"}}': AT_START},
    ),
    "LoadsInVain": (
        {f"metatide_loads_vain_total{{{CONNECTOR}}}": "0x20 1x10 2x10 4x10 8x10"},
        {f"metatide_loads_vain_total{{{CONNECTOR}}}": "0x20 1x10 2x30"},
    ),
    "StaysCold": (
        {f"metatide_load_requests_oldest_seconds{{{WORKER}}}": "0+60x60"},
        {f"metatide_load_requests_oldest_seconds{{{WORKER}}}": "0+60x29 1x30"},
    ),
    "DatabaseFails": (
        {
            f'metatide_database_reads_total{{{WORKER},result="answered"}}': "0+90x60",
            f'metatide_database_reads_total{{{WORKER},result="down"}}': "0+10x60",
        },
        {
            f'metatide_database_reads_total{{{WORKER},result="answered"}}': "0+99x60",
            f'metatide_database_reads_total{{{WORKER},result="down"}}': "0+1x60",
        },
    ),
    "RequestsFail": (
        {f'metatide_refused_requests_total{{{WORKER},status="503"}}': "0+9x60"},
        {
            f'metatide_answers_total{{{WORKER},source="cache"}}': "0+9x60",
            f'metatide_refused_requests_total{{{WORKER},status="404"}}': "0+9x60",
            f'metatide_refused_requests_total{{{WORKER},status="503"}}': "0x60",
        },
    ),
    "MetastoresFail": (
        {
            f'{RELAYED},reason="not_cached"}}': "0+90x60",
            f'metatide_thrift_refused_total{{{WORKER},reason="upstream"}}': "0+10x60",
        },
        {
            f'{RELAYED},reason="not_cached"}}': "0+90x60",
            f'metatide_thrift_refused_total{{{WORKER},reason="upstream"}}': "0+1x60",
            f'metatide_thrift_refused_total{{{WORKER},reason="slow"}}': "0+10x60",
        },
    ),
    "PeerUnproved": (
        {f'metatide_unproved_answers_total{{{WORKER},protocol="http"}}': "0+1x60"},
        {f'metatide_unproved_answers_total{{{WORKER},protocol="thrift"}}': "1x60"},
    ),
    "FewHits": (
        {
            f'metatide_answers_total{{{WORKER},source="cache"}}': "0+40x60",
            f'metatide_answers_total{{{WORKER},source="database"}}': "0+60x60",
        },
        {
            f'metatide_answers_total{{{WORKER},source="cache"}}': "0+60x60",
            f'metatide_answers_total{{{WORKER},source="database"}}': "0+40x60",
        },
    ),
    "Paused": (
        {f'metatide_answers_total{{{WORKER},source="database",reason="paused"}}': "0+9x90"},
        {f'metatide_answers_total{{{WORKER},source="database",reason="paused"}}': "0+9x9 81x80"},
    ),
    "Rewound": (
        {f'metatide_answers_total{{{WORKER},source="database",reason="rewound"}}': "0+9x60"},
        {f'metatide_answers_total{{{WORKER},source="database",reason="rewound"}}': "0+9x9 81x51"},
    ),
    "ShadowDifferent": (
        {f'metatide_thrift_shadowed_total{{{WORKER},method="m",outcome="different"}}': "1x60"},
        {f'metatide_thrift_shadowed_total{{{WORKER},method="m",outcome="equal"}}': "1x60"},
    ),
    "Disagreement": (
        {f"metatide_audit_disagreed_seconds{{{WORKER}}}": AT_START},
        {f"metatide_audit_disagreed_seconds{{{WORKER}}}": "0x60"},
    ),
    "AuditsFail": (
        {
            f"metatide_audit_every_seconds{{{WORKER}}}": "900x60",
            f"metatide_audit_finished_seconds{{{WORKER}}}": "0x60",
        },
        {
            f"metatide_audit_every_seconds{{{WORKER}}}": "1500x60",
            f"metatide_audit_finished_seconds{{{WORKER}}}": "0x60",
            f"metatide_audit_every_seconds{{{OTHER}}}": "0x60",
            f"metatide_audit_finished_seconds{{{OTHER}}}": "0x60",
        },
    ),
}
GAP = f'metatide_connect_failed_seconds{{{CONNECTOR},kind="gap"}}'
# Further ones: the alert, after how many minutes is looked, and whether it fires then.
CASES: dict[str, tuple[str, int, bool, Series]] = {
    "what an ended connector found": ("LogLost", 60, True, {GAP: "_x10 600x3 stale"}),
    "calls that no metastore answers": (
        "RequestsFail",
        HOUR,
        True,
        {
            f'{ANSWERED},source="cache",reason="fresh"}}': "0+90x60",
            f'metatide_thrift_refused_total{{{WORKER},reason="upstream"}}': "0+9x60",
        },
    ),
    "calls that clients end": (
        "RequestsFail",
        HOUR,
        False,
        {
            f'{RELAYED},reason="cold"}}': "0+90x60",
            f'metatide_thrift_refused_total{{{WORKER},reason="slow"}}': "0+9x60",
        },
    ),
    "calls that are relayed though the cache might answer": (
        "FewHits",
        HOUR,
        True,
        {
            f'{ANSWERED},source="cache",reason="fresh"}}': "0+40x60",
            f'{RELAYED},reason="cold"}}': "0+60x60",
        },
    ),
    "calls none of which the cache answers": (
        "FewHits",
        HOUR,
        True,
        {f'{RELAYED},reason="cold"}}': "0+60x60"},
    ),
    "writes over Thrift": (
        "FewHits",
        HOUR,
        False,
        {
            f'{ANSWERED},source="cache",reason="fresh"}}': "0+40x60",
            f'{RELAYED},reason="not_cached"}}': "0+60x60",
        },
    ),
    "relayed calls while the cache is paused": (
        "Paused",
        89,
        True,
        {f'{RELAYED},reason="paused"}}': "0+9x90"},
    ),
    "calls that the database answers, of another history": (
        "Rewound",
        HOUR,
        True,
        {f'{ANSWERED},source="database",reason="rewound"}}': "0+9x60"},
    ),
    "what was found over an hour ago": ("LogLost", 71, False, {GAP: AT_START}),
}
ENDS = {"ImagesOld": 72, "ServedImagesOld": 72, "DiskFills": 100, "Paused": 89}
"""After how many minutes is looked, where an hour is too short."""


def promtool(*arguments: str | Path) -> None:
    done = subprocess.run(["promtool", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_configuration_and_its_rules_are_sound() -> None:
    promtool("check", "config", PROMETHEUS / "prometheus.yml")
    promtool("check", "rules", ROOT / "deploy" / "helm" / "metatide" / "files" / "rules.yml")


def test_the_queries_of_panels_are_sound(tmp_path: Path) -> None:
    queries = [
        target["expr"].replace(INTERVAL, "5m")
        for board in dashboards().values()
        for panel in board["panels"]
        for target in panel.get("targets", ())
    ]
    rules = [{"record": f"panel:{number}", "expr": one} for number, one in enumerate(queries)]
    path = tmp_path / "panels.yml"
    path.write_text(yaml.safe_dump({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", "--lint=none", path)


def test_each_alert_fires_when_it_should_and_only_then(tmp_path: Path) -> None:
    assert EXAMPLES.keys() == {alert.name for alert in ALERTS}
    path = tmp_path / "tests.yml"
    tests = [
        example(name, ENDS.get(name, HOUR), fires, series, name)
        for name, both in EXAMPLES.items()
        for fires, series in zip((True, False), both, strict=True)
    ] + [
        example(name, ends, fires, series, title)
        for title, (name, ends, fires, series) in CASES.items()
    ]
    rules = [str(PROMETHEUS / "rules.yml")]
    path.write_text(
        yaml.safe_dump({"rule_files": rules, "evaluation_interval": "1m", "tests": tests})
    )
    promtool("test", "rules", path)


def example(name: str, ends: int, fires: bool, series: Series, title: str) -> dict[str, Any]:
    """Counts the alerts that fire, by a query: their labels and texts are no matter here."""
    query = f'count(ALERTS{{alertname="Metatide{name}",alertstate="firing"}})'
    return {
        "name": f"{title}, {'wrong' if fires else 'right'}",
        "interval": "1m",
        "input_series": [{"series": one, "values": values} for one, values in series.items()],
        "promql_expr_test": [
            {
                "expr": f"{query} > bool 0" if fires else query,
                "eval_time": f"{ends}m",
                "exp_samples": [{"labels": "{}", "value": 1}] if fires else [],
            }
        ],
    }
