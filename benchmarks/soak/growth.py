"""How fast the figures of a soak grow."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

WARM_SHARE: Final = 0.25
"""The share of a run at its beginning that slopes leave out."""
MEASURES: Final = ("private_mib", "open_files", "threads", "connections")
Sample = Mapping[str, Any]


class Series(NamedTuple):
    """A figure over time."""

    measure: str
    name: str
    """Of the process or folder."""

    points: tuple[tuple[float, float], ...]
    """Seconds and values."""

    def slope_per_hour(self) -> float:
        """By least squares."""
        points = self.points[int(len(self.points) * WARM_SHARE) :]
        mean_s = sum(seconds for seconds, _ in points) / len(points)
        mean = sum(value for _, value in points) / len(points)
        spread = sum((seconds - mean_s) ** 2 for seconds, _ in points)
        joint = sum((seconds - mean_s) * (value - mean) for seconds, value in points)
        return 3_600 * joint / spread if spread else 0.0


def series(samples: Sequence[Sample]) -> Iterator[Series]:
    """All figures that are to stay flat, or to be explained."""
    for measure in MEASURES:
        for name in samples[0]["processes"]:
            points = ((line["s"], line["processes"][name][measure]) for line in samples)
            yield Series(measure, name, tuple(points))
    stores = ((line["s"], line.get("stores_in_memory_mib", 0.0)) for line in samples)
    yield Series("stores_in_memory_mib", "worker", tuple(stores))
    for name in samples[0]["folders_mib"]:
        sizes = ((line["s"], line["folders_mib"][name]) for line in samples)
        yield Series("disk_mib", name, tuple(sizes))
    late = ((line["s"], line["events_late"] or 0) for line in samples)
    yield Series("events_late", "worker", tuple(late))
    reads = ((line["s"], line["reads"].get("reads_per_s", 0)) for line in samples)
    yield Series("reads_per_s", "readers", tuple(reads))


def summary(samples: Sequence[Sample]) -> dict[str, Any]:
    """For each figure where it was after the warm-up, where it ended, and its slope since."""
    after = int(len(samples) * WARM_SHARE)
    answers: dict[str, float] = {}
    for line in samples:
        for source, count in line["reads"].get("answers", {}).items():
            answers[source] = answers.get(source, 0) + count
    return {
        "minutes": round(samples[-1]["s"] / 60, 1),
        "events": samples[-1]["events"],
        "load_mean": round(sum(line["load"] for line in samples) / len(samples), 1),
        "answers": answers,
        "thrift_answers": samples[-1].get("thrift_answers"),
        "figures": {
            f"{each.measure} {each.name}": {
                "after_warm_up": round(each.points[after][1], 1),
                "at_the_end": round(each.points[-1][1], 1),
                "per_hour": round(each.slope_per_hour(), 1),
            }
            for each in series(samples)
        },
    }
