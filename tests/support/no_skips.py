"""Fails a run in CI that skips any test."""

import os

import pytest

_skipped: list[str] = []


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.skipped and not hasattr(report, "wasxfail"):
        _skipped.append(report.nodeid)


def pytest_collectreport(report: pytest.CollectReport) -> None:
    if report.skipped:
        _skipped.append(report.nodeid)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if _skipped and _in_ci():
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if _skipped and _in_ci():
        terminalreporter.section("skipped, which CI does not allow", red=True, bold=True)
        for nodeid in _skipped:
            terminalreporter.line(nodeid)


def _in_ci() -> bool:
    return os.environ.get("CI", "").lower() in ("1", "true")
