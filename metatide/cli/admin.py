"""`metatide admin`: tells a running cache what to hold, and whether to serve."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import click
import httpx
import orjson
from rich.table import Table

from connectors.feed.single_records import record_at
from hive.errors import InputError, MachineError, UnprovedError
from hive.names import TableName, parse_table_name
from metatide.cli.groups import Group
from metatide.cli.proved_workers import ProvedWorkers
from metatide.config import Config, Effective, configured
from metatide.members import json_of, none_of, require_tables, worker_client, worker_urls
from metatide.process.consoles import PlainConsole
from metatide.topic import find_topic
from query_api.http.admin import PATH
from state.records.numbers import supersedes

TIMEOUT_S = 30.0
APPLIED_S_MAX = 30.0
LOOK_S = 0.1
_ORDERED = ("paused", "whitelist", "blacklist")


def _without_patterns(
    _: click.Context, __: click.Parameter, names: tuple[str, ...]
) -> tuple[str, ...]:
    for name in names:
        if "*" in name:
            raise click.BadParameter(
                f"{name} is not a table: name each table; only `lists` takes patterns"
            )
    return names


_TABLES = click.argument(
    "tables", nargs=-1, required=True, metavar="DB.TABLE...", callback=_without_patterns
)
_SETTINGS = configured("data_dir", "kafka.bootstrap_servers")


class Workers:
    """The workers of the configured group."""

    def __init__(self, config: Config) -> None:
        topic = self.topic = find_topic(config)
        client = worker_client(config, TIMEOUT_S)
        # The command closes it when it ends.
        self._client = click.get_current_context().with_resource(client)
        self._workers = ProvedWorkers(worker_urls(config, topic, config.worker_group))
        self._count = topic.shards

    def order(self, what: str, **body: Any) -> None:
        """Sends an order to any worker, which passes it on to a connector."""
        self._workers.first(
            lambda url: json_of(self._asked("POST", f"{url}{PATH}/{what}", json=body))
        )

    def order_above(self, what: str, version: str, **body: Any) -> int:
        """Orders something for the whole cache, above the greatest version or epoch that any shard
        shows, which is returned: the worker that takes the order knows only those of its own
        shards. Raises MachineError if a member was left out and may hold shards that show a greater
        one, because these would ignore the order."""
        shards = self.shards()
        hidden = _lagging_shards(shards, self._count, lambda _: True)
        if hidden and self._workers.left_out:
            raise MachineError(
                f"no worker reports the state of {_shards(hidden)}, so the order wasn't sent: "
                f"start their workers (metatide status).{self._doubt()}"
            )
        above = max((int(shard[version]) for shard in shards), default=0)
        self.order(what, above=above, **body)
        return above

    def decide(self, what: str, version: str, wanted: Mapping[str, Any], **body: Any) -> None:
        """Orders something, and waits until every shard shows what is wanted, by this order or a
        later one: what it showed before may be about to change."""
        above = self.order_above(what, version, **body)

        def has_applied(shard: dict[str, Any]) -> bool:
            is_later = supersedes(int(shard[version]), above)
            return is_later and all(shard[name] == value for name, value in wanted.items())

        self.wait_until_applied(has_applied)

    def order_existing(self, what: str, tables: Sequence[str], then: "Outcome") -> None:
        """Orders something for these tables, and prints what will happen. Raises InputError if one
        of them doesn't exist.
        """
        names = [*map(parse_table_name, tables)]

        def require(url: str) -> None:
            try:
                require_tables(self._client, url, names)
            except httpx.HTTPError as error:
                raise MachineError(f"{url} doesn't answer: {error}") from error

        self._workers.first(require)
        self.order(what, tables=tables)
        then.show(tables)

    def lost(self, tables: Sequence[str]) -> list[TableName]:
        """Those of these tables that the metastore's database lacks; none where that can't be
        found out.
        """
        names = [*map(parse_table_name, tables)]
        # Write ids are never cached, so asking for them has no table loaded.
        body = {"names": [*map(str, names)]}
        try:
            answer = self._workers.first(
                lambda url: self._client.post(f"{url}/v1/write-ids", json=body)
            )
        except (httpx.HTTPError, UnprovedError):
            # The order has been given; this would only have been said beside it.
            return []
        if not answer.is_success:
            return []
        existing = {
            table["fullTableName"]
            for table in answer.json()["tables"]
            if table.get("id") is not None
        }
        return [name for name in names if str(name) not in existing]

    def shards(self) -> list[dict[str, Any]]:
        """The orders that each shard has applied, in the order of the shards."""
        states = [
            shard
            for answer in self._workers.each(lambda url: self._asked("GET", f"{url}{PATH}"))
            for shard in orjson.loads(json_of(answer))
        ]
        return sorted(states, key=lambda shard: int(shard["shard"]))

    def wait_until_passed(self, number: int, offset: int) -> dict[str, Any]:
        """Waits until a shard has passed an offset, and either follows the topic again or stops
        before another record; returns its status."""
        deadline = time.monotonic() + APPLIED_S_MAX
        while True:
            for shard in self._statuses():
                passed = shard["shard"] == number and shard["offset"] > offset
                if passed and (shard["phase"] != "catching_up" or time.monotonic() > deadline):
                    return shard
            if time.monotonic() > deadline:
                raise MachineError(
                    f"shard {number} hasn't passed offset {offset} within {APPLIED_S_MAX:g} s: is "
                    "a connector running (metatide connect), and has the shard a worker (metatide "
                    f"status)?{self._doubt()}"
                )
            time.sleep(LOOK_S)

    def _statuses(self) -> Iterator[dict[str, Any]]:
        """The status of each shard that a worker holds."""
        for answer in self._workers.each(lambda url: self._asked("GET", f"{url}/v1/status")):
            yield from orjson.loads(json_of(answer))["shards"]

    def wait_until_applied(self, has_applied: Callable[[dict[str, Any]], bool]) -> None:
        """Waits until every shard has applied an order."""
        deadline = time.monotonic() + APPLIED_S_MAX
        while lagging := _lagging_shards(self.shards(), self._count, has_applied):
            if time.monotonic() > deadline:
                raise MachineError(
                    f"not all of the {self._count} shards applied the order within "
                    f"{APPLIED_S_MAX:g} s (missing: {_list(lagging)}): is a connector running "
                    "(metatide connect), and do the workers follow (metatide status)?"
                    f"{self._doubt()}"
                )
            time.sleep(LOOK_S)
        click.echo(f"all {self._count} shards have applied the order", err=True)

    def _doubt(self) -> str:
        """The workers that may hold shards that are missing."""
        left_out = self._workers.left_out
        return f" Left out above, {_list(left_out)} may hold what is missing" if left_out else ""

    def _asked(self, method: str, url: str, **more: Any) -> httpx.Response:
        try:
            return self._client.request(method, url, **more)
        except httpx.HTTPError as error:
            raise MachineError(f"{url} doesn't answer: {error}") from error


@dataclass(frozen=True)
class Outcome:
    """What will happen to a table, or to several."""

    of_one: str
    of_several: str

    def show(self, tables: Sequence[str]) -> None:
        if len(tables) == 1:
            click.echo(f"{tables[0]}: {self.of_one}", err=True)
        elif tables:
            click.echo(f"{len(tables)} tables: {self.of_several}", err=True)


@click.group(cls=Group)
def command() -> None:
    """Tell a running cache what to hold, and whether to serve.

    Orders go through a worker and a connector into the topic, so that all workers apply them,
    including those that are built again later. Workers log each order and who gave it. A worker
    accepts orders from whoever holds the workers' secret (worker.secret_file). Without that, an
    order needs a token of the role admin (client.token) if reads.tokens_path is set; otherwise it
    must come from the worker's own machine.
    """


@command.command()
@_SETTINGS
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as when piped.")
def show(effective: Effective, as_json: bool) -> None:
    """Show whether the cache serves, and its lists; shards in the same state share a line."""
    shards = Workers(effective.config).shards()
    if as_json or not sys.stdout.isatty():
        click.echo(orjson.dumps(shards, option=orjson.OPT_INDENT_2))
        return
    table = Table("shards", "serve", "whitelist", "blacklist", box=None, header_style="bold")
    for same in _alike(shards):
        first, last = same[0], same[-1]
        span = str(first["shard"]) + (f" to {last['shard']}" if len(same) > 1 else "")
        lists = (" ".join(first[name]) or "-" for name in ("whitelist", "blacklist"))
        table.add_row(span, "no" if first["paused"] else "yes", *lists)
    PlainConsole().print(table)


@command.command()
@_SETTINGS
@_TABLES
def warm(effective: Effective, tables: tuple[str, ...]) -> None:
    """Load tables that nobody has read yet."""
    then = Outcome("will be loaded if it isn't", "will be loaded if they aren't")
    Workers(effective.config).order_existing("warm", tables, then)


@command.command()
@_SETTINGS
@_TABLES
def refresh(effective: Effective, tables: tuple[str, ...]) -> None:
    """Drop tables and load them again; until then the database answers."""
    then = Outcome(
        "the database answers until it is loaded again",
        "the database answers until they are loaded again",
    )
    Workers(effective.config).order_existing("refresh", tables, then)


@command.command()
@_SETTINGS
@_TABLES
def drop(effective: Effective, tables: tuple[str, ...]) -> None:
    """Drop tables from the cache until somebody reads them; the metastore keeps them."""
    workers = Workers(effective.config)
    # The cache may hold what was dropped in the database without an event.
    workers.order("drop", tables=tables)
    lost = workers.lost(tables)
    then = "will be dropped until somebody reads"
    existing = [name for name in tables if parse_table_name(name) not in lost]
    Outcome(f"{then} it", f"{then} them").show(existing)
    if lost:
        phrase = "it, if it holds it" if len(lost) == 1 else "them, if it holds them"
        click.echo(f"{none_of(lost)} in the metastore: the cache drops {phrase}", err=True)


@command.command()
@_SETTINGS
def pause(effective: Effective) -> None:
    """Stop answering from the cache: the database answers everything, and the cache goes on
    following the log.
    """
    Workers(effective.config).decide("pause", "pause_version", {"paused": True})


@command.command()
@_SETTINGS
def resume(effective: Effective) -> None:
    """Answer from the cache again."""
    Workers(effective.config).decide("resume", "pause_version", {"paused": False})


@command.command()
@_SETTINGS
@click.option(
    "--whitelist",
    multiple=True,
    metavar="PATTERN",
    help="Cache only tables that match; repeatable.",
)
@click.option(
    "--blacklist",
    multiple=True,
    metavar="PATTERN",
    help="Don't cache tables that match; repeatable.",
)
def lists(effective: Effective, whitelist: tuple[str, ...], blacklist: tuple[str, ...]) -> None:
    """Set which tables are cached, by Hive's patterns over db.table; without any, all are.

    Tables that are left out are deleted from the cache at once; tables that are let in are loaded
    when they are read.
    """
    workers = Workers(effective.config)
    wanted = {"whitelist": [*whitelist], "blacklist": [*blacklist]}
    workers.decide("lists", "lists_version", wanted, **wanted)


@command.command()
@_SETTINGS
def reset(effective: Effective) -> None:
    """Drop everything, under a new epoch; what is read is loaded again.

    Use it when forged or damaged records have left shards in different epochs, or at events that
    the log doesn't have.
    """
    workers = Workers(effective.config)
    before = {shard["shard"]: shard["epoch"] for shard in workers.shards()}
    workers.order_above("reset", "epoch")
    workers.wait_until_applied(lambda shard: shard["epoch"] != before.get(shard["shard"]))


@command.command()
@_SETTINGS
@click.argument("shard", type=click.IntRange(0))
@click.argument("offset", type=click.IntRange(0))
@click.option(
    "--last",
    type=click.IntRange(0),
    metavar="OFFSET",
    help="Also skip those up to here that can't be read.",
)
def skip(effective: Effective, shard: int, offset: int, last: int | None) -> None:
    """Skip a record that can't be read, before which its shard has stopped.

    `metatide status` names both, `metatide topic record` shows the record. Nobody knows what it
    would have changed, so the shard drops all that it holds, and answers nothing from the cache
    until `metatide admin resume`: the record may have been an order, too.
    """
    workers = Workers(effective.config)
    shown = record_at(workers.topic, shard, offset)
    if shown.reason is None:
        raise InputError(f"shard {shard} can read offset {offset}, a {shown.type}: nothing to skip")
    if last is not None:
        record_at(workers.topic, shard, last)
    workers.order("skip", shard=shard, offset=offset, last=last)
    status = workers.wait_until_passed(shard, offset if last is None else last)
    click.echo(
        f"shard {shard} has passed offset {offset}. It has dropped what it held, and is paused: "
        "compare its lists with the others' (metatide admin show), then run metatide admin resume. "
        "What is read is loaded again; metatide prewarm loads the rest",
        err=True,
    )
    if status["unreadable"] is not None:
        click.echo(status["fault"], err=True)


def _lagging_shards(
    states: Sequence[dict[str, Any]], count: int, has_applied: Callable[[dict[str, Any]], bool]
) -> list[int]:
    """The shards of a topic that haven't applied an order, or whose state no worker reports."""
    applied = {shard["shard"] for shard in states if has_applied(shard)}
    return [number for number in range(count) if number not in applied]


def _shards(numbers: Sequence[int]) -> str:
    return f"shard{'s' if len(numbers) > 1 else ''} {_list(numbers)}"


def _list(what: Iterable[object]) -> str:
    return ", ".join(map(str, what))


def _alike(shards: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Consecutive shards in the same state, as one group each."""

    def state(place: int) -> tuple[Any, ...]:
        shard = shards[place]
        return shard["shard"] - place, *(shard[name] for name in _ORDERED)

    for _, places in groupby(range(len(shards)), state):
        yield [shards[place] for place in places]
