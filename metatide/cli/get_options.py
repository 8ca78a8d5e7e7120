"""What all commands of `metatide get` share: a client, and the output."""

import functools
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
import msgspec
import orjson
from rich.table import Table

from metatide.cli.reading import Server, reading
from metatide.client import Answer
from metatide.process.consoles import PlainConsole

T = TypeVar("T")
Rows = Callable[[Any], Iterable[tuple[str, ...]]]


def asking(function: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of a requirement and of the output, and passes it a client."""

    @functools.wraps(function)
    def asked(server: Server, explain: bool, as_json: bool, **rest: Any) -> None:
        show = Show(explain=explain, as_json=as_json or not sys.stdout.isatty())
        function(show=show, **rest)

    with_json = click.option(
        "--json", "as_json", is_flag=True, help="Print JSON, also on a terminal."
    )
    with_explain = click.option(
        "--explain", is_flag=True, help="Print to stderr who answered, and why."
    )
    return reading(with_explain(with_json(asked)))


class Show:
    """Prints answers, as tables or as JSON."""

    def __init__(self, *, explain: bool, as_json: bool) -> None:
        self._explain = explain
        self._as_json = as_json

    def __call__(self, answer: Answer[T], headings: tuple[str, ...], rows: Rows) -> None:
        value = msgspec.to_builtins(answer.value)
        if self._as_json:
            click.echo(orjson.dumps(value, option=orjson.OPT_INDENT_2))
        else:
            table = Table(box=None, header_style="bold", pad_edge=False)
            for heading in headings:
                table.add_column(heading, overflow="fold")
            for row in rows(value):
                table.add_row(*row)
            PlainConsole().print(table)
        if answer.next is not None:
            click.echo(f"more follow: --after {answer.next!r}", err=True)
        if self._explain:
            click.echo(_explanation(answer), err=True)


def _explanation(answer: Answer[T]) -> str:
    detail = f": {answer.detail}" if answer.detail else ""
    grounds = f"answered from the {answer.source} ({answer.reason}{detail})"
    return f"{grounds}; complete up to {answer.position}"


def cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
