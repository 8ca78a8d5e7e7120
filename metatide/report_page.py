"""The report as an HTML page with tables and bars, without external resources."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from html import escape
from typing import Protocol

_STYLE = """
  :root { color-scheme: light dark }
  body { font: 16px/1.5 system-ui, sans-serif }
  body { max-width: 60rem; margin: 3rem auto; padding: 0 1rem }
  table { border-collapse: collapse; width: 100%; margin-bottom: 2.5rem }
  th, td { text-align: left; padding: .2rem .8rem .2rem 0; border-bottom: 1px solid #8884 }
  td:nth-child(n+2) { font-variant-numeric: tabular-nums }
  svg { width: 14rem; height: .8rem; vertical-align: middle } rect { fill: #3a7 }
"""


class ReportTable(Protocol):
    """The result of a query: the first column has names, the second is drawn as bars."""

    @property
    def title(self) -> str: ...

    @property
    def columns(self) -> list[str]: ...

    @property
    def rows(self) -> list[tuple[object, ...]]: ...


def page(topic: str, made_s: float, answers: Sequence[ReportTable]) -> str:
    """The complete HTML page."""
    title = f"Metatide: the history of {escape(topic)}"
    made = datetime.fromtimestamp(made_s, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
    parts = [
        '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width">',
        f"<title>{title}</title>\n<style>{_STYLE}</style>\n<h1>{title}</h1>\n<p>{made}</p>",
    ]
    for answer in answers:
        parts.extend(_section(answer))
    return "\n".join([*parts, "</html>\n"])


def _section(answer: ReportTable) -> Iterator[str]:
    yield f"<h2>{escape(answer.title)}</h2>"
    if not answer.rows:
        yield "<p>None.</p>"
        return
    heads = "".join(f'<th scope="col">{_words(name)}' for name in (*answer.columns, ""))
    yield f"<table>\n<thead><tr>{heads}</thead>\n<tbody>"
    most = max(_number(row[1]) for row in answer.rows)
    for row in answer.rows:
        first, *others = (_text(value) for value in row)
        cells = "".join(f"<td>{cell}" for cell in others)
        yield f'<tr><th scope="row">{first}{cells}<td>{_bar(_number(row[1]), most)}</tr>'
    yield "</tbody>\n</table>"


def _bar(value: float, most: float) -> str:
    share = 100 * value / most if most else 0
    return (
        '<svg viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true">'
        f'<rect width="{share:.1f}" height="10"/></svg>'
    )


def _words(column: str) -> str:
    return escape(column.replace("_", " "))


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:,}" if isinstance(value, int | float) else escape(str(value))


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0
