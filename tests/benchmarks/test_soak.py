"""The figures and the plot of `benchmarks.soak`."""

from xml.etree import ElementTree

import pytest

from benchmarks.soak.growth import MEASURES, series, summary
from benchmarks.soak.plot import svg


def sample(seconds: float) -> dict[str, object]:
    """Memory grows by 36 MiB an hour, files stay."""
    figures = dict.fromkeys(MEASURES, 5.0) | {"private_mib": 100 + seconds / 100}
    return {
        "s": seconds,
        "load": 1.0,
        "events": int(seconds),
        "events_late": None,
        "folders_mib": {"stores": 2.0},
        "processes": {"worker": figures},
        "thrift_answers": {"cache": 7},
        "reads": {"reads_per_s": 10, "answers": {"cache": 40, "database": 10}},
    }


SAMPLES = [sample(5.0 * number) for number in range(400)]


def test_slopes_are_those_of_the_figures() -> None:
    figures = summary(SAMPLES)["figures"]
    assert figures["private_mib worker"] == {
        "after_warm_up": 105.0,
        "at_the_end": 120.0,
        "per_hour": pytest.approx(36.0),
    }
    assert figures["open_files worker"]["per_hour"] == 0
    assert summary(SAMPLES)["answers"] == {"cache": 16_000, "database": 4_000}
    assert summary(SAMPLES)["thrift_answers"] == {"cache": 7}


def test_each_figure_has_a_line_in_the_plot() -> None:
    drawn = ElementTree.fromstring(svg(SAMPLES))
    lines = drawn.findall(".//{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == len(list(series(SAMPLES)))
