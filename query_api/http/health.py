"""Health checks of everything that answers depend on."""

import asyncio
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

CHECK_TIMEOUT_S = 5.0
# The result is kept for this long.
FRESH_S = 0.2


@dataclass(frozen=True)
class Check:
    """A health check with a name; `fault` says what is wrong, or returns None."""

    name: str
    fault: Callable[[], str | None]


class Finding(msgspec.Struct, frozen=True):
    """The result of one check."""

    name: str
    ok: bool
    detail: str


class Report(msgspec.Struct, frozen=True):
    """The results of all checks; ready if all pass."""

    ready: bool
    checks: list[Finding]


class Health:
    """Runs all checks concurrently, and shares the results among callers that arrive meanwhile."""

    def __init__(self, checks: Sequence[Check]) -> None:
        self._checks = checks
        self._lock = asyncio.Lock()
        self._report = Report(False, [])
        self._fresh_until = 0.0

    async def report(self) -> Report:
        async with self._lock:
            if time.monotonic() >= self._fresh_until:
                findings = await asyncio.gather(*map(_find, self._checks))
                self._report = Report(all(finding.ok for finding in findings), findings)
                self._fresh_until = time.monotonic() + FRESH_S
            return self._report


async def _find(check: Check) -> Finding:
    try:
        async with asyncio.timeout(CHECK_TIMEOUT_S):
            fault = await asyncio.to_thread(check.fault)
    except TimeoutError:
        fault = f"no answer within {CHECK_TIMEOUT_S:g} s"
    return Finding(check.name, fault is None, fault or "ok")
