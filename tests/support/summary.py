"""Prints, at the end of a run, what tests have to say, whether they passed or not."""

from collections.abc import Callable

import pytest

_PROPERTY = "summary"
Say = Callable[[str, str], None]


@pytest.fixture
def say(record_property: Callable[[str, object], None]) -> Say:
    """Notes a text, to be printed in a section of the summary."""

    def note(section: str, text: str) -> None:
        record_property(_PROPERTY, [section, text])

    return note


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    texts: dict[str, list[str]] = {}
    for reports in terminalreporter.stats.values():
        for report in reports:
            if getattr(report, "when", "") == "call":
                for name, value in getattr(report, "user_properties", ()):
                    if name == _PROPERTY:
                        section, text = value
                        texts.setdefault(section, []).append(text)
    for section, lines in texts.items():
        terminalreporter.section(section)
        for line in lines:
            terminalreporter.line(line)
