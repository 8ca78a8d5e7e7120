"""The figures of finished pieces, and how they grow with the number of partitions."""

import json
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

Figures = Mapping[str, Mapping[str, Any]]
"""By piece."""
_NOT_COMPARED: Final = ("partitions", "cores_of_others")


def figures_of(folder: Path) -> dict[str, dict[str, Any]]:
    """The figures of finished pieces."""
    return {line["piece"]: line for line in _lines(folder) if line.get("finished", True)}


def unfinished(folder: Path, piece: str) -> list[dict[str, Any]]:
    """The figures of earlier runs of a piece that didn't come to its end."""
    return [line for line in _lines(folder) if line["piece"] == piece]


def _lines(folder: Path) -> list[dict[str, Any]]:
    path = _path(folder)
    return list(map(json.loads, path.read_text().splitlines())) if path.exists() else []


def keep(folder: Path, line: Mapping[str, Any]) -> None:
    with _path(folder).open("a") as file:
        file.write(json.dumps(line) + "\n")


def table(folders: Sequence[Figures]) -> str:
    """A table in Markdown: a column for each size, and the exponent with which a figure grew
    between the two largest sizes; more than 1 is faster than linear.
    """
    ordered = sorted(folders, key=_size)
    columns = [dict(_flat(figures)) for figures in ordered]
    sizes = [_size(figures) for figures in ordered]
    lines = [
        " | ".join(("| figure", *(f"{size:,}" for size in sizes), "exponent |")),
        "|" + " --- |" * (len(sizes) + 2),
    ]
    for name in dict.fromkeys(name for column in columns for name in column):
        values = [column.get(name) for column in columns]
        shown = ["" if value is None else f"{value:,}" for value in values]
        lines.append(" | ".join((f"| {name}", *shown, f"{_exponent(sizes, values)} |")))
    return "\n".join(lines)


def _path(folder: Path) -> Path:
    return folder / "figures.jsonl"


def _size(figures: Figures) -> int:
    return next((int(line["partitions"]) for line in figures.values()), 0)


def _flat(figures: Figures) -> Iterator[tuple[str, float]]:
    for piece, line in figures.items():
        yield from _numbers(piece, line)


def _numbers(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, dict):
        for key, part in value.items():
            if key not in _NOT_COMPARED:
                yield from _numbers(f"{name} {key}", part)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield name, value


def _exponent(sizes: Sequence[int], values: Sequence[float | None]) -> str:
    (small, before), (large, after) = list(zip(sizes, values, strict=True))[-2:]
    if not before or not after or small == large:
        return ""
    return f"{math.log(after / before) / math.log(large / small):.2f}"
