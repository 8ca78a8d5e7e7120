"""What all benchmarks print, and how they measure what several of them measure."""

import json
import os
from collections.abc import Sequence

import psutil


def report(name: str, value: float, unit: str, **beside: object) -> None:
    """Prints a figure, and what it is compared with."""
    print_line(name=name, value=value, unit=unit, **beside)


def show(name: str, **figures: object) -> None:
    """Prints figures that depend on what else the machine does."""
    print_line(name=name, **figures, load_average=load_average())


def print_line(**figures: object) -> None:
    print(json.dumps(figures), flush=True)


def load_average() -> float:
    """Of the last minute."""
    return round(os.getloadavg()[0], 1)


def percentile(values: Sequence[float], share: float) -> float:
    """The value that this share of the values lies below."""
    return round(sorted(values)[int(len(values) * share)], 2)


def cpu_s(process: psutil.Process) -> float:
    """The processor time that a process has used."""
    times = process.cpu_times()
    return float(times.user + times.system)
