"""`metatide get`: ask a server, as a table on a terminal and as JSON in a pipe."""

import functools
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import click
import httpx
import orjson
from rich.console import Console
from rich.table import Table

from hive.errors import InputError, MachineError
from metatide.client import (
    Answer,
    Client,
    Need,
    NotFoundError,
    Position,
    ServerError,
    Settings,
    UnavailableError,
    Which,
)
from metatide.config import load
from metatide.stack.state import StateFile

T = TypeVar("T")
Rows = Callable[[Any], Iterable[tuple[str, ...]]]

_TOKEN = "METATIDE_TOKEN"
_CONSISTENCIES = ("any", "at_least", "write_ids", "latest")


@click.group("get")
def command() -> None:
    """Ask a running Metatide.

    On a terminal the answer is a table, in a pipe or with --json it is JSON with the field names
    of Hive's Thrift.
    """


def asking(function: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options that all have, and a client."""

    @functools.wraps(function)
    def asked(
        server: str | None,
        consistency: Any,
        min_position: str | None,
        write_ids: str | None,
        table_id: int | None,
        explain: bool,
        as_json: bool,
        **rest: Any,
    ) -> None:
        need = Need(consistency, write_ids, table_id, min_position=_position(min_position))
        settings = Settings(token=os.environ.get(_TOKEN))
        url = server or _running()
        show = Show(explain=explain, as_json=as_json or not sys.stdout.isatty())
        try:
            with Client(url, settings) as client:
                function(client=client, need=need, show=show, **rest)
        except (NotFoundError, ServerError) as error:
            kind = MachineError if isinstance(error, UnavailableError) else InputError
            raise kind(str(error)) from error
        except httpx.HTTPError as error:
            raise MachineError(f"{url} does not answer: {error}") from error

    options = [
        click.option(
            "--server",
            metavar="URL",
            envvar="METATIDE_SERVER",
            show_envvar=True,
            help="The server; by default the one that `metatide up` runs.",
        ),
        click.option(
            "--consistency", type=click.Choice(_CONSISTENCIES), help="How fresh the answer must be."
        ),
        click.option("--min-position", metavar="EPOCH:EVENT", help="At least this new."),
        click.option("--write-ids", metavar="LIST", help="The write-id list to read by."),
        click.option(
            "--table-id", type=int, metavar="ID", help="The table's id, with --write-ids."
        ),
        click.option(
            "--explain",
            is_flag=True,
            help="Say on stderr who answered, and why the cache did or didn't.",
        ),
        click.option("--json", "as_json", is_flag=True, help="JSON on a terminal too."),
    ]
    return functools.reduce(lambda wrapped, option: option(wrapped), reversed(options), asked)


class Show:
    """Writes answers for whoever reads them."""

    def __init__(self, *, explain: bool, as_json: bool) -> None:
        self._explain = explain
        self._as_json = as_json

    def __call__(self, answer: Answer[T], headings: tuple[str, ...], rows: Rows) -> None:
        if self._as_json:
            click.echo(orjson.dumps(answer.value, option=orjson.OPT_INDENT_2))
        else:
            table = Table(*headings, box=None, header_style="bold", pad_edge=False)
            for row in rows(answer.value):
                table.add_row(*row)
            Console().print(table)
        if answer.next is not None:
            click.echo(f"more follow: --after {answer.next!r}", err=True)
        if self._explain:
            click.echo(_explanation(answer), err=True)


def _explanation(answer: Answer[T]) -> str:
    detail = f" ({answer.detail})" if answer.detail else ""
    return f"{answer.source}, because of: {answer.reason}{detail}; complete up to {answer.position}"


def _position(text: str | None) -> Position | None:
    if text is None:
        return None
    try:
        return Position.parse(text)
    except ValueError:
        raise InputError(f"bad position {text!r}: write EPOCH:EVENT, as 0:1234") from None


def _running() -> str:
    config = load().config
    state = StateFile(config.data_dir).read()
    if state is not None:
        for process in state.processes:
            if process.name.startswith("worker-") and process.phase == "running":
                return process.address
    if config.worker.port:
        return f"http://{config.worker.host}:{config.worker.port}"
    raise InputError("no server is known: run `metatide up`, or give --server URL")


@command.command()
@click.argument("name", metavar="DB.TABLE")
@asking
def table(client: Client, need: Need, show: Show, name: str) -> None:
    """A table."""
    show(client.table(name, need), ("field", "value"), _fields)


@command.command()
@click.argument("db")
@click.option("--pattern", default="*", help="Hive's pattern: * and |.")
@click.option("--type", "types", multiple=True, help="Of this type only; may be repeated.")
@click.option("--after", default="", help="The page after this name.")
@asking
def tables(
    client: Client,
    need: Need,
    show: Show,
    db: str,
    pattern: str,
    types: tuple[str, ...],
    after: str,
) -> None:
    """The tables of a database."""
    answer = client.table_names(db, pattern, types, after, need)
    show(answer, ("table", "type", "owner"), _columns("tableName", "tableType", "ownerName"))


@command.command()
@click.option("--pattern", default="*", help="Hive's pattern: * and |.")
@asking
def databases(client: Client, need: Need, show: Show, pattern: str) -> None:
    """All databases."""
    answer = client.databases(pattern, need=need)
    show(answer, ("database", "location"), _columns("name", "locationUri"))


@command.command()
@click.argument("name", metavar="DB.TABLE")
@click.option("--filter", "filter_", default="", help="Hive's filter, as \"ds >= '2026-01-01'\".")
@click.option("--prefix", multiple=True, help="The first values, each once; empty for any.")
@click.option("--name", "names", multiple=True, help="A partition's name; may be repeated.")
@click.option("--after", default="", help="The page after this name.")
@click.option("--limit", type=click.IntRange(min=1), help="How many at most.")
@click.option("--whole", is_flag=True, help="Whole partitions, not only their names.")
@asking
def partitions(
    client: Client,
    need: Need,
    show: Show,
    name: str,
    filter_: str,
    prefix: tuple[str, ...],
    names: tuple[str, ...],
    after: str,
    limit: int | None,
    whole: bool,
) -> None:
    """The partitions of a table."""
    which = Which(filter_, prefix, names or None, after, limit)
    if whole:
        show(client.partitions(name, which, need), ("values", "location"), _partition_rows)
    else:
        show(client.partition_names(name, which, need), ("partition",), _lines)


@command.command()
@click.argument("name", metavar="DB.TABLE")
@click.option("--column", "columns", multiple=True, help="This column only; may be repeated.")
@asking
def statistics(client: Client, need: Need, show: Show, name: str, columns: tuple[str, ...]) -> None:
    """The statistics of a table's columns."""
    answer = client.statistics(name, columns, need=need)
    show(answer, ("column", "type", "statistics"), _columns("colName", "colType", "statsData"))


@command.command()
@click.argument("name", metavar="DB.TABLE")
@asking
def constraints(client: Client, need: Need, show: Show, name: str) -> None:
    """The constraints of a table."""
    show(client.constraints(name, need), ("kind", "column"), _constraint_rows)


@command.command()
@asking
def event(client: Client, need: Need, show: Show) -> None:
    """The id of the last event of the metastore."""
    show(client.current_event(need), ("event",), lambda value: [(str(value),)])


def _fields(value: dict[str, Any]) -> Iterable[tuple[str, ...]]:
    return ((name, _cell(one)) for name, one in value.items())


def _columns(*fields: str) -> Rows:
    return lambda value: (tuple(_cell(one.get(field)) for field in fields) for one in value)


def _lines(value: list[str]) -> Iterable[tuple[str, ...]]:
    return ((one,) for one in value)


def _partition_rows(value: list[dict[str, Any]]) -> Iterable[tuple[str, ...]]:
    return ((", ".join(one["values"]), _cell(one["sd"].get("location"))) for one in value)


def _constraint_rows(value: dict[str, list[dict[str, Any]]]) -> Iterable[tuple[str, ...]]:
    for kind, found in value.items():
        for one in found:
            yield kind, _cell(one.get("column_name") or one.get("fkcolumn_name"))


def _cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
