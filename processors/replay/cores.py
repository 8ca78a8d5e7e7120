"""The processor cores that this process may use."""

import os
from pathlib import Path
from typing import Final

_QUOTA: Final = Path("/sys/fs/cgroup/cpu.max")
"""The quota of the control group, which is a container's own."""


def usable_cores(quota: Path = _QUOTA) -> int:
    """How many cores the machine leaves to this process: taskset and containers take some away."""
    # macOS has no affinity.
    affinity = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    cores = (os.cpu_count() or 1) if affinity is None else len(affinity)
    try:
        quota_us, period_us = quota.read_text().split()
        return max(1, min(cores, int(quota_us) // int(period_us)))
    except (OSError, ValueError):
        # There is no such file, or it says that there is no limit.
        return cores
