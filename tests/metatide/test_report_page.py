"""The page of a report."""

from dataclasses import dataclass
from xml.etree import ElementTree

from metatide.report_page import page


@dataclass(frozen=True)
class Answer:
    title: str
    columns: list[str]
    rows: list[tuple[object, ...]]


def test_a_query_without_rows_says_none_and_others_have_bars() -> None:
    nothing = Answer("Nothing & more", ["name", "events"], [])
    tables = Answer("Tables", ["name", "event_count"], [("a<b", 1200), ("c", 300), (None, None)])
    text = page("events", 0, [nothing, tables])
    assert "1970-01-01 00:00:00 UTC" in text
    assert "<h2>Nothing &amp; more</h2>\n<p>None.</p>\n<h2>Tables</h2>" in text
    assert '<th scope="col">event count' in text
    assert '<th scope="row">a&lt;b<td>1,200<td>' in text
    assert '<th scope="row">–<td>–<td>' in text
    bars = [
        line[line.index("<svg") : line.index("</tr>")]
        for line in text.splitlines()
        if "<svg" in line
    ]
    widths = [ElementTree.fromstring(bar)[0].attrib["width"] for bar in bars]
    assert widths == ["100.0", "25.0", "0.0"]
    zeros = page("events", 0, [Answer("Zeros", ["name", "events"], [("a", 0)])])
    assert 'width="0.0"' in zeros
