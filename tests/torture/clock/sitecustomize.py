"""Lets the wall clock of a Python process jump: its seconds are in the file TORTURE_CLOCK."""

import os
import time
from pathlib import Path

_LOOK_S = 0.2
_file = Path(os.environ["TORTURE_CLOCK"])
_true_time = time.time
_looked_at, _offset_s = -1.0, 0.0


def _time() -> float:
    global _looked_at, _offset_s
    if (now := time.monotonic()) - _looked_at > _LOOK_S:
        _looked_at, text = now, _file.read_text() if _file.exists() else ""
        _offset_s = float(text or 0)
    return _true_time() + _offset_s


def _time_ns() -> int:
    return int(_time() * 1e9)


time.time = _time
time.time_ns = _time_ns
