"""Prints, at the end of a run, who answered the calls that each engine made."""

from collections.abc import Callable

import pytest

from tests.support.thrift_answers import ThriftAnswers

_PROPERTY = "answers over Thrift"
Record = Callable[[str, ThriftAnswers], None]


@pytest.fixture
def record_answers(record_property: Callable[[str, object], None]) -> Record:
    """Notes the answers that some work got, to be printed."""

    def record(work: str, answers: ThriftAnswers) -> None:
        record_property(_PROPERTY, [work, *answers.lines()])

    return record


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    properties = [
        value
        for reports in terminalreporter.stats.values()
        for report in reports
        for name, value in getattr(report, "user_properties", ())
        if name == _PROPERTY and getattr(report, "when", "") == "call"
    ]
    if properties:
        terminalreporter.section("who answered the engines' calls")
    for work, *lines in properties:
        terminalreporter.line(f"{work}: " + "\n".join(lines))
