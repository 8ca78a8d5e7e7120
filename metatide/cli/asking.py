"""What all commands of `metatide get` share: options, a client, and how answers are shown."""

import functools
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
)
from metatide.config import Config, Effective, configured
from metatide.stack.state import StateFile

T = TypeVar("T")
Rows = Callable[[Any], Iterable[tuple[str, ...]]]

_CONSISTENCIES = ("any", "at_least", "write_ids", "latest")


def asking(function: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options that all have, and a client."""

    @functools.wraps(function)
    def asked(
        effective: Effective,
        consistency: Any,
        min_position: str | None,
        write_ids: str | None,
        table_id: int | None,
        accept_newer: bool,
        max_wait_ms: int | None,
        explain: bool,
        as_json: bool,
        **rest: Any,
    ) -> None:
        least = _position(min_position)
        need = Need(consistency, write_ids, table_id, accept_newer, least, max_wait_ms)
        config = effective.config
        trusted = config.reads.tls_ca
        settings = Settings(config.client.token, verify=str(trusted) if trusted else True)
        url = config.client.server or _running(config)
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
            "--consistency", type=click.Choice(_CONSISTENCIES), help="How fresh the answer must be."
        ),
        click.option("--min-position", metavar="EPOCH:EVENT", help="At least this new."),
        click.option("--write-ids", metavar="LIST", help="The write-id list to read by."),
        click.option(
            "--table-id", type=int, metavar="ID", help="The table's id, with --write-ids."
        ),
        click.option(
            "--accept-newer", is_flag=True, help="More commits than in --write-ids will do, too."
        ),
        click.option(
            "--max-wait-ms",
            type=int,
            metavar="N",
            help="How long to wait for the cache before the database is asked.",
        ),
        click.option(
            "--explain",
            is_flag=True,
            help="Say on stderr who answered, and why the cache did or didn't.",
        ),
        click.option("--json", "as_json", is_flag=True, help="JSON on a terminal too."),
    ]
    with_options: Callable[..., None] = asked
    for option in reversed(options):
        with_options = option(with_options)
    return configured("client.server")(with_options)


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


def _running(config: Config) -> str:
    state = StateFile(config.data_dir).read()
    if state is not None:
        for process in state.processes:
            if process.name.startswith("worker-") and process.phase == "running":
                return process.address
    if config.worker.port:
        return f"http://{config.worker.host}:{config.worker.port}"
    raise InputError("no server is known: run `metatide up`, or give --server URL")


def cell(value: Any) -> str:
    if value is None:
        return ""
    return value if isinstance(value, str) else orjson.dumps(value).decode()
