"""The clock by which what was read becomes too old."""

import runpy
import time
from typing import Any

import pytest

from query_api import elapsed, owner_moment
from query_api.authorization import verdicts
from query_api.latest import recent_reads


def made_anew() -> Any:
    return runpy.run_path(elapsed.__file__)["elapsed_s"]


def test_it_goes_on_while_the_machine_is_suspended_where_a_clock_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for module in (owner_moment, recent_reads, verdicts):
        assert vars(module)["elapsed_s"] is elapsed.elapsed_s
    monkeypatch.setattr(time, "CLOCK_BOOTTIME", 77, raising=False)
    monkeypatch.setattr(time, "clock_gettime", {77: 4.2}.get)
    assert made_anew()() == 4.2
    monkeypatch.delattr(time, "CLOCK_BOOTTIME")
    assert made_anew() is time.monotonic
