"""What commands share that read from a server: the options of a requirement, and a client."""

import functools
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import click
import httpx

from hive.errors import InputError, MachineError
from hive.names import parse_table_name
from metatide.advertised import joined, near
from metatide.certificates import trusted
from metatide.client import (
    Client,
    InvalidUrlError,
    Need,
    Position,
    ServerError,
    Settings,
    UnavailableError,
)
from metatide.client.bound import is_sendable
from metatide.config import Config, Effective, configured
from metatide.config.values import Url
from metatide.members import scheme
from metatide.stack.running import missing
from metatide.stack.state import StateFile
from query_api.requirement import AGE_MS_MAX, WAIT_MS_MAX

_CONSISTENCIES: Final = ("any", "at_least", "write_ids", "within", "latest")
_OPTIONS: Final = (
    click.option(
        "--consistency", type=click.Choice(_CONSISTENCIES), help="How fresh the answer must be."
    ),
    click.option(
        "--min-position",
        metavar="EPOCH:EVENT",
        help="Require an answer at least as new as this position.",
    ),
    click.option("--write-ids", metavar="LIST", help="The write-id list of the reader."),
    click.option("--table-id", type=int, metavar="ID", help="The table's id, with --write-ids."),
    click.option(
        "--accept-newer",
        is_flag=True,
        help="Accept an answer with more commits than --write-ids.",
    ),
    click.option(
        "--max-wait-ms",
        type=click.IntRange(0, WAIT_MS_MAX),
        metavar="N",
        help="How long to wait for the cache before asking the database.",
    ),
    click.option(
        "--max-age-ms",
        type=click.IntRange(1, AGE_MS_MAX),
        metavar="N",
        help="How many milliseconds of changes the answer may lack, with within.",
    ),
)


@dataclass(frozen=True)
class Server:
    """The server that is read from, and how it is reached."""

    url: Url
    settings: Settings


def reading(function: Callable[..., None]) -> Callable[..., None]:
    """Gives a command the options of a requirement, and passes it what was required, a client and
    the server.
    """

    @functools.wraps(function)
    def read(
        effective: Effective,
        consistency: Any,
        min_position: str | None,
        write_ids: str | None,
        table_id: int | None,
        accept_newer: bool,
        max_wait_ms: int | None,
        max_age_ms: int | None,
        **rest: Any,
    ) -> None:
        least = None if min_position is None else parse_position(min_position)
        need = Need(consistency, write_ids, table_id, accept_newer, least, max_wait_ms, max_age_ms)
        _check(need)
        config = effective.config
        server = Server(_server(config), _settings(config))
        try:
            with Client(server.url, server.settings) as client:
                function(client=client, need=need, server=server, **rest)
        except ServerError as error:
            if error.status == 401:
                raise InputError(_wrong_token(server.url, config)) from error
            kind = MachineError if isinstance(error, UnavailableError) else InputError
            raise kind(error.detail) from error
        except InvalidUrlError as error:
            raise InputError(str(error)) from error
        except httpx.HTTPError as error:
            raise MachineError(
                f"{server.url.masked} does not answer: {error}; start it, or choose another with "
                "--server"
            ) from error

    with_options: Callable[..., None] = read
    for option in reversed(_OPTIONS):
        with_options = option(with_options)
    return configured("data_dir", "client.server")(with_options)


def table_name(_: click.Context, __: click.Parameter, text: str) -> str:
    """The table's name from an argument."""
    parse_table_name(text)
    return text


def database_name(_: click.Context, __: click.Parameter, text: str) -> str:
    """The database's name from an argument."""
    if not text.rpartition(".")[2]:
        raise InputError(f"{text!r} is no database: write db or catalog.db")
    return text


def not_empty(_: click.Context, parameter: click.Parameter, text: str) -> str:
    """Refuses an empty argument that is part of a path."""
    if not text:
        raise InputError(f"{parameter.human_readable_name} is empty: give a name")
    return text


def parse_position(text: str) -> Position:
    try:
        return Position.parse(text)
    except ValueError:
        raise InputError(f"bad position {text!r}: write EPOCH:EVENT, such as 0:1234") from None


def _check(need: Need) -> None:
    """Refuses combinations of options that the server would ignore or reject in its own terms."""
    if need.consistency == "at_least" and need.min_position is None:
        raise InputError("--consistency at_least needs --min-position EPOCH:EVENT")
    if (need.write_ids is None) != (need.table_id is None):
        raise InputError(
            "--write-ids and --table-id go together: `metatide get write-ids DB.TABLE` tells both"
        )
    if need.max_age_ms is not None and need.consistency not in (None, "within"):
        raise InputError("--max-age-ms is for --consistency within")
    if need.accept_newer and need.write_ids is None:
        raise InputError("--accept-newer needs --write-ids")


def _settings(config: Config) -> Settings:
    token, ca = config.client.token, config.reads.tls_ca
    if token is not None and not is_sendable(token):
        raise InputError("client.token contains invalid characters: correct it")
    if ca is not None:
        trusted(ca, "reads.tls_ca")
    # A person sees the error at once, and decides what to do. A proxy would be shown the token,
    # and can't reach the addresses of this machine. But authorities of the environment count.
    authorities = str(ca) if ca else os.environ.get("SSL_CERT_FILE") or True
    return Settings(token, retry_s=0, verify=authorities, trust_env=False)


def _wrong_token(url: Url, config: Config) -> str:
    if config.client.token is None:
        return f"{url.masked} requires a token: set METATIDE_CLIENT_TOKEN to one of the role read"
    return f"{url.masked} doesn't know the token that METATIDE_CLIENT_TOKEN gives"


def _server(config: Config) -> Url:
    return config.client.server or Url(_running(config))


def _running(config: Config) -> str:
    state = StateFile(config.data_dir).read()
    if state is not None:
        for process in state.processes:
            if process.name.startswith("worker-") and process.phase == "running":
                return process.address
    if config.worker.port:
        address = joined(near(config.worker.host), config.worker.port)
        return f"{scheme(config)}://{address}"
    raise InputError(missing("server", "--server URL", config))
