"""Draws a soak.

python -m benchmarks.soak.plot SAMPLES SVG

SAMPLES has the lines that `python -m benchmarks.soak` printed.
"""

import json
import sys
from collections.abc import Iterator, Sequence
from itertools import groupby
from pathlib import Path
from typing import Final

from benchmarks.soak.growth import Sample, Series, series

TITLES: Final = {
    "private_mib": "private memory, MiB",
    "stores_in_memory_mib": "of it, the worker's stores, MiB",
    "open_files": "open files",
    "threads": "threads",
    "connections": "TCP connections",
    "disk_mib": "on disk, MiB",
    "events_late": "events that the slowest shard lacks",
    "reads_per_s": "reads a second",
}
COLORS: Final = ("#4269d0", "#efb118", "#ff725c", "#6cc5b0", "#3ca951", "#a463f2", "#9c6b4e")
WIDTH: Final = 380
HEIGHT: Final = 200
COLUMNS: Final = 2
POINTS_MAX: Final = 240
_LEFT, _TOP, _RIGHT, _BOTTOM = 48, 28, 96, 24


def svg(samples: Sequence[Sample]) -> str:
    """A panel for each measure, with a line for each process or folder."""
    panels = [list(group) for _, group in groupby(series(samples), lambda each: each.measure)]
    rows = -(-len(panels) // COLUMNS)
    size = f"{WIDTH * COLUMNS} {HEIGHT * rows}"
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {size}" font-family="sans-serif"'
        ' font-size="10">',
        f'<rect width="{WIDTH * COLUMNS}" height="{HEIGHT * rows}" fill="white"/>',
    ]
    for number, panel in enumerate(panels):
        x, y = number % COLUMNS * WIDTH, number // COLUMNS * HEIGHT
        lines += [f'<g transform="translate({x} {y})">', *_panel(panel), "</g>"]
    return "\n".join((*lines, "</svg>", ""))


def _panel(panel: Sequence[Series]) -> Iterator[str]:
    wide, high = WIDTH - _LEFT - _RIGHT, HEIGHT - _TOP - _BOTTOM
    longest_s = max(seconds for each in panel for seconds, _ in each.points) or 1
    most = max(value for each in panel for _, value in each.points) or 1
    yield f'<text x="{_LEFT}" y="16" font-weight="bold">{TITLES[panel[0].measure]}</text>'
    for share in (0, 0.5, 1):
        y = _TOP + high * (1 - share)
        yield f'<path d="M{_LEFT} {y:.1f}h{wide}" stroke="#ddd"/>'
        yield f'<text x="{_LEFT - 4}" y="{y + 3:.1f}" text-anchor="end">{most * share:,.0f}</text>'
    yield f'<text x="{_LEFT}" y="{HEIGHT - 8}">0</text>'
    end = f"{longest_s / 60:.0f} min"
    yield f'<text x="{_LEFT + wide}" y="{HEIGHT - 8}" text-anchor="end">{end}</text>'
    for number, each in enumerate(panel):
        points = each.points[:: max(1, len(each.points) // POINTS_MAX)]
        path = " ".join(
            f"{_LEFT + wide * seconds / longest_s:.1f},{_TOP + high * (1 - value / most):.1f}"
            for seconds, value in points
        )
        color = COLORS[number % len(COLORS)]
        yield f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="1.2"/>'
        y = _TOP + 8 + 13 * number
        yield f'<text x="{_LEFT + wide + 8}" y="{y}" fill="{color}">{each.name}</text>'


def main() -> None:
    source, target = map(Path, sys.argv[1:])
    lines = map(json.loads, source.read_text().splitlines())
    target.write_text(svg([line for line in lines if "s" in line]))


if __name__ == "__main__":
    main()
