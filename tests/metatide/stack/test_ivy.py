"""What is told of the hundreds of lines that Ivy prints when it fails."""

import pytest

from metatide.stack.ivy import _reason


@pytest.mark.parametrize(
    ("log", "reason"),
    [
        ("java.io.IOException: No space left on device", "no space left on the disk; free some"),
        ("UnknownHostException: repo1.maven.org", "no network, or no way to the Maven repository"),
        (":: a#b;1: not found\n:: c#d;2: not found\n", "a#b;1: not found and 1 more"),
        (":: a#b;1: not found\n", "a#b;1: not found"),
        ("one\n  it is broken\n\n", "Ivy failed: it is broken"),
        (
            "RuntimeException: no way\n\tat org.apache.ivy.Ivy.retrieve(Ivy.java:561)\n"
            "Caused by: no such path\n\tat java.io.File.toPath(File.java:2)\n\t... 4 more\n",
            "Ivy failed: Caused by: no such path",
        ),
        ("", "Ivy failed: it wrote nothing"),
    ],
)
def test_the_decisive_line_is_told(log: str, reason: str) -> None:
    assert _reason("fetching jars", log).startswith(f"fetching jars: {reason}")
