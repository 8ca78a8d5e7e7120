"""That dashboards and alerts name what connectors and workers export, and all of it."""

import re
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
import yaml

from connectors.loads.metrics import LoadFault
from connectors.metrics import Fault
from metatide.health import Level
from metatide.monitoring.alerts import ALERTS, RUNBOOK, Alert
from metatide.monitoring.dashboards import dashboards
from metatide.monitoring.metric_families import Family, exported
from metatide.monitoring.panels import WIDTH
from metatide.monitoring.remedies import SECTIONS
from processors.worker.phases import Phase
from query_api.database.metrics import Result
from query_api.reasons import Reason, Source
from query_api.thrift.call import RelayReason
from query_api.thrift.shadow import Outcome
from tests.metatide.monitoring.promql import named
from tests.support.checkout import ROOT

FAMILIES = exported()
SERIES: dict[str, Family] = {series: family for family in FAMILIES for series in family.series}
OF_PROMETHEUS = {"up"}
"""What it says itself of each job."""
OF_TARGETS = {"job", "instance"}
OUTCOMES = {value for name, value in vars(Outcome).items() if name.isupper()}
REFUSED = {"upstream", "connections", "failed"}
"""Why connections of Thrift clients are ended, as far as alerts name it."""
VALUES: dict[str, set[str]] = {
    "source": {*Source},
    "reason": {*Reason, *RelayReason, *REFUSED},
    "kind": {*Fault, *LoadFault},
    "phase": {*Phase},
    "level": {*Level},
    "result": {*Result},
    "outcome": OUTCOMES,
    "status": {str(status) for status in range(400, 600)},
    "job": {
        str(job["job_name"])
        for job in yaml.safe_load((ROOT / "compose/prometheus/prometheus.yml").read_text())[
            "scrape_configs"
        ]
    }
    | {"serve"},
}
BOARDS = dashboards()


def panels() -> Iterator[tuple[str, dict[str, Any]]]:
    for name, board in BOARDS.items():
        for panel in board["panels"]:
            if panel["type"] != "row":
                yield f"{name}: {panel['title']}", panel


def queries() -> Iterator[tuple[str, str]]:
    for where, panel in panels():
        for place, target in enumerate(panel["targets"]):
            yield f"{where} {place}", target["expr"]
    for alert in ALERTS:
        yield f"alert {alert.name}", alert.expr


def test_a_query_says_what_it_names() -> None:
    metrics = named(
        'sum by (le, kind) (rate(a_total{kind=~"x|y", le!=""}[5m])) / (b or vector(0)) > 1'
    )
    assert [one.name for one in metrics.selectors] == ["a_total", "b"]
    assert metrics.selectors[0].matchers == (("kind", "=~", "x|y"), ("le", "!=", ""))
    assert metrics.grouped_by == {"le", "kind"}
    with pytest.raises(ValueError, match="no matchers"):
        named("a{b}")


@pytest.mark.parametrize("query", [one for _, one in queries()], ids=[one for one, _ in queries()])
def test_a_query_names_what_is_exported(query: str) -> None:
    metrics = named(query)
    assert metrics.selectors
    labels = set(OF_TARGETS)
    for selector in metrics.selectors:
        own = set(OF_TARGETS)
        if selector.name not in OF_PROMETHEUS:
            own |= {*SERIES[selector.name].labels}
            own |= {"le"} if selector.name.endswith("_bucket") else set()
        for label, how, value in selector.matchers:
            assert label in own, (selector.name, label)
            values = VALUES[label]
            matched = [one for one in values if re.fullmatch(value, one)]
            assert matched if "~" in how else value in values, (label, value)
        labels |= own
    assert metrics.grouped_by <= labels


def test_the_labels_that_texts_show_are_there() -> None:
    for _, panel in panels():
        for target in panel["targets"]:
            shown = set(re.findall(r"\{\{(\w+)\}\}", target["legendFormat"]))
            assert shown <= shown_by(target["expr"]), target
    for alert in ALERTS:
        shown = set(re.findall(r"\$labels\.(\w+)", alert.summary))
        assert shown <= shown_by(alert.expr), alert


def shown_by(query: str) -> set[str]:
    """The labels that are left of a query."""
    found = named(query)
    if re.search(r"\b(sum|max|min)\b", query):
        return set(found.grouped_by)
    return OF_TARGETS | {label for one in found.selectors for label in labels_of(one.name)}


def labels_of(series: str) -> Iterable[str]:
    return SERIES[series].labels if series in SERIES else ()


def test_every_metric_has_its_panel_and_its_remedy() -> None:
    remedies = [name for section in SECTIONS for name in section.remedies]
    assert sorted(remedies) == sorted(family.name for family in FAMILIES)
    shown = {
        SERIES[selector.name].name
        for _, query in queries()
        for selector in named(query).selectors
        if selector.name in SERIES
    }
    assert shown == {*remedies}
    assert all(remedy for section in SECTIONS for remedy in section.remedies.values())


def test_panels_lie_beside_each_other() -> None:
    for board in BOARDS.values():
        taken: set[tuple[int, int]] = set()
        for panel in board["panels"]:
            place = panel["gridPos"]
            cells = {
                (x, y)
                for x in range(place["x"], place["x"] + place["w"])
                for y in range(place["y"], place["y"] + place["h"])
            }
            assert not cells & taken, panel["title"]
            assert place["x"] + place["w"] <= WIDTH
            taken |= cells
        ids = [panel["id"] for panel in board["panels"]]
        assert len({*ids}) == len(ids)
    assert len({board["uid"] for board in BOARDS.values()}) == len(BOARDS)


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_an_alert_has_its_chapter(alert: Alert) -> None:
    headings = re.findall(r"^#+ (.*)$", (ROOT / RUNBOOK).read_text(), re.MULTILINE)
    assert f"Metatide{alert.name}" in headings


def test_every_chapter_is_of_an_alert() -> None:
    headings = re.findall(r"^#+ Metatide(\w+)$", (ROOT / RUNBOOK).read_text(), re.MULTILINE)
    assert sorted(headings) == sorted(alert.name for alert in ALERTS)


def test_every_reason_has_its_remedy() -> None:
    _, _, chapter = (ROOT / RUNBOOK).read_text().partition("\n## Reasons\n")
    chapter, _, _ = chapter.partition("\n## ")
    told = re.findall(r"^\| `(\w+)` \| (\S.*) \| (\S.*) \|$", chapter, re.MULTILINE)
    assert [reason for reason, _, _ in told] == [*Reason, *RelayReason]
