"""Panels of Grafana, and their layout."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

WIDTH: Final = 24
PANEL_HEIGHT: Final = 7
DATA_SOURCE: Final = {"type": "prometheus", "uid": "${source}"}
INTERVAL: Final = "$__rate_interval"


class Query(NamedTuple):
    """A query, drawn as one line or as a line for each combination of labels."""

    expr: str
    legend: str = ""


class Panel(NamedTuple):
    """A graph, or a number if `kind` is `stat`."""

    title: str
    queries: Sequence[Query]
    unit: str = "short"
    description: str = ""
    kind: str = "timeseries"
    width: int = 8
    steps: Sequence[tuple[str, float]] = ()
    """The values from which on a number has another colour; below the first it is green."""


class Row(NamedTuple):
    """Panels under a common title."""

    title: str
    panels: Sequence[Panel]


def dashboard(uid: str, title: str, description: str, rows: Iterable[Row]) -> dict[str, Any]:
    """A dashboard in the format that Grafana provisions."""
    return {
        "uid": uid,
        "title": title,
        "description": description,
        "tags": ["metatide"],
        "editable": True,
        "schemaVersion": 39,
        "version": 1,
        "refresh": "10s",
        "time": {"from": "now-1h", "to": "now"},
        "timezone": "browser",
        "annotations": {"list": []},
        "links": [
            {
                "type": "dashboards",
                "title": "Metatide",
                "tags": ["metatide"],
                "asDropdown": False,
                "keepTime": True,
            }
        ],
        "templating": {
            "list": [
                {
                    "name": "source",
                    "label": "data source",
                    "type": "datasource",
                    "query": "prometheus",
                }
            ]
        },
        "panels": list(_placed(rows)),
    }


def _placed(rows: Iterable[Row]) -> Iterator[dict[str, Any]]:
    """The panels from left to right, continued below when a line is full."""
    number, y = 0, 0
    for row in rows:
        number += 1
        place = {"h": 1, "w": WIDTH, "x": 0, "y": y}
        common = {"id": number, "title": row.title, "gridPos": place}
        yield {**common, "type": "row", "collapsed": False, "panels": []}
        x, y = 0, y + 1
        for panel in row.panels:
            if x + panel.width > WIDTH:
                x, y = 0, y + PANEL_HEIGHT
            number += 1
            place = {"h": PANEL_HEIGHT, "w": panel.width, "x": x, "y": y}
            yield {"id": number, "gridPos": place, **_panel(panel)}
            x += panel.width
        y += PANEL_HEIGHT


def _panel(panel: Panel) -> dict[str, Any]:
    steps: list[dict[str, Any]] = [{"color": "green", "value": None}]
    steps += [{"color": color, "value": value} for color, value in panel.steps]
    return {
        "type": panel.kind,
        "title": panel.title,
        "description": panel.description,
        "datasource": DATA_SOURCE,
        "fieldConfig": {
            "defaults": {"unit": panel.unit, "thresholds": {"mode": "absolute", "steps": steps}},
            "overrides": [],
        },
        "options": _OPTIONS[panel.kind],
        "targets": [
            {
                "refId": chr(ord("A") + place),
                "datasource": DATA_SOURCE,
                "expr": query.expr,
                "legendFormat": query.legend or "__auto",
            }
            for place, query in enumerate(panel.queries)
        ],
    }


_OPTIONS: Final[dict[str, dict[str, Any]]] = {
    "timeseries": {
        "legend": {"displayMode": "list", "placement": "bottom", "showLegend": True},
        "tooltip": {"mode": "multi", "sort": "desc"},
    },
    "stat": {
        "colorMode": "value",
        "graphMode": "area",
        "reduceOptions": {"calcs": ["lastNotNull"], "fields": "", "values": False},
    },
}
