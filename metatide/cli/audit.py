"""`metatide audit`: compares the cache with the database."""

import secrets
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import click
import httpx
import msgspec
import orjson
from rich.console import Console
from rich.progress import Progress

from hive.errors import InputError, MachineError
from hive.names import parse_table_name
from metatide.cli.proved_workers import ProvedWorkers
from metatide.config import Effective, configured
from metatide.members import json_of, require_tables, worker_client, worker_urls
from metatide.process.consoles import PlainConsole
from metatide.topic import events_topic
from query_api.audit import AuditResult, Totals, totals
from query_api.audit.operations import PATH, AuditSample
from query_api.audit.scopes import draw
from query_api.reasons import Reason
from state.records import Scope, ScopeKind

TIMEOUT_S = 600.0
AT_ONCE = 20
FIELDS_SHOWN = 20


@click.command()
@configured("data_dir", "kafka.bootstrap_servers")
@click.option("--table", "tables", multiple=True, metavar="DB.TABLE", help="Only this; repeatable.")
@click.option(
    "--sample", type=click.IntRange(1), metavar="N", help="Compare a random sample of this size."
)
@click.option(
    "--seed", type=click.IntRange(0), metavar="N", help="Repeat the sample of an earlier audit."
)
@click.option("--group", metavar="NAME", help="The group, instead of worker.group.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as when piped.")
def command(
    effective: Effective,
    tables: tuple[str, ...],
    sample: int | None,
    seed: int | None,
    group: str | None,
    as_json: bool,
) -> None:
    """Compare what the cache holds with the database, both as of the same event.

    Compares tables with their partitions, statistics, constraints and write ids, the names of
    databases, and databases: all of them, or a sample. Prints each difference, field by field. The
    exit status is 1 if there is any difference. Each worker compares its own shards, over its own
    connections to the database.
    """
    if tables and (sample is not None or seed is not None):
        raise InputError("--table names all that is compared: leave out --sample and --seed")
    config = effective.config
    seed = secrets.randbits(32) if seed is None else seed
    urls = worker_urls(config, events_topic(config), group or config.worker_group)
    workers = ProvedWorkers(urls)
    with worker_client(config, TIMEOUT_S) as client:
        try:
            if tables:
                names = map(parse_table_name, tables)
                scopes, of = [Scope(ScopeKind.TABLE, name) for name in names], len(tables)
            else:
                scopes, of = _drawn(client, workers, sample, seed)
            results = list(_shown(_audited(client, workers, scopes), len(scopes)))
            if tables:
                _require(client, workers, results)
        except httpx.HTTPError as error:
            raise MachineError(f"a worker doesn't answer: {error}") from error
    together, console = totals(results), PlainConsole()
    if as_json or not console.is_terminal:
        click.echo(orjson.dumps(_as_json(results, together, of, seed), option=orjson.OPT_INDENT_2))
    else:
        _show(console, results, together, of, seed)
    sys.exit(bool(together.objects.wrong))


def _drawn(
    client: httpx.Client, workers: ProvedWorkers, sample: int | None, seed: int
) -> tuple[list[Scope], int]:
    """A sample drawn over all workers, and the number of scopes it was drawn from."""
    parameters = {"seed": seed} if sample is None else {"seed": seed, "sample": sample}
    answers = [
        msgspec.json.decode(json_of(answer), type=AuditSample)
        for answer in workers.each(lambda url: client.get(f"{url}{PATH}", params=parameters))
    ]
    scopes = list(dict.fromkeys(scope for answer in answers for scope in answer.scopes))
    of = len(scopes) if sample is None else max(sum(answer.of for answer in answers), len(scopes))
    return draw(scopes, len(scopes) if sample is None else sample, seed), of


def _audited(
    client: httpx.Client, workers: ProvedWorkers, scopes: Sequence[Scope]
) -> Iterator[AuditResult]:
    """Audits the scopes."""
    for start in range(0, len(scopes), AT_ONCE):
        yield from _audited_at_once(client, workers, scopes[start : start + AT_ONCE])


def _audited_at_once(
    client: httpx.Client, workers: ProvedWorkers, scopes: Sequence[Scope]
) -> Iterator[AuditResult]:
    """Audits the scopes. Each worker is asked for those that no previous worker owns."""
    waiting = scopes
    elsewhere: list[AuditResult] = []

    def ask(url: str) -> httpx.Response:
        body = msgspec.json.encode({"scopes": waiting})
        headers = {"content-type": "application/json"}
        return client.post(f"{url}{PATH}", content=body, headers=headers)

    for answer in workers.each(ask):
        audited = msgspec.json.decode(json_of(answer), type=list[AuditResult])
        elsewhere = [result for result in audited if _is_elsewhere(result)]
        yield from (result for result in audited if result not in elsewhere)
        waiting = [result.scope for result in elsewhere]
        if not waiting:
            break
    yield from elsewhere


def _require(client: httpx.Client, workers: ProvedWorkers, results: Sequence[AuditResult]) -> None:
    """Raises InputError if a table exists neither in the cache nor in the metastore. One that only
    the cache has is a difference.
    """
    names = [result.scope.name for result in results if not result.differences]
    if names:
        workers.first(lambda url: require_tables(client, url, names))


def _is_elsewhere(result: AuditResult) -> bool:
    return not result.objects and Reason.NOT_OWNED in result.left_out.values()


def _shown(results: Iterator[AuditResult], count: int) -> Iterator[AuditResult]:
    """Audits with a progress bar, if stderr is a terminal."""
    console = PlainConsole(stderr=True)
    with Progress(console=console, disable=not console.is_terminal, transient=True) as progress:
        yield from progress.track(results, total=count, description="comparing")


def _as_json(
    results: Sequence[AuditResult], together: Totals, of: int, seed: int
) -> dict[str, Any]:
    return {
        "audited": len(results),
        "of": of,
        "seed": seed,
        "totals": msgspec.to_builtins(together),
        "disagreements": [
            {
                "scope": f"{result.scope.kind} {_named(result.scope)}",
                "position": str(result.position),
                **msgspec.to_builtins(difference),
            }
            for result in results
            for difference in result.differences
        ],
    }


def _show(
    console: Console, results: Sequence[AuditResult], together: Totals, of: int, seed: int
) -> None:
    for result in results:
        for difference in result.differences:
            _show_difference(console, result, difference)
    if together.left_out:
        console.print("left out, because the cache doesn't answer it:")
    for reason, count in sorted(together.left_out.items()):
        console.print(f"  {count} × {reason}")
    console.print(
        f"{len(results)} of {of} tables and lists (seed {seed}): "
        f"{together.objects.seen} objects compared, {together.objects.wrong} differ"
    )
    for what, bound in (("tables and lists", together.scopes), ("objects", together.objects)):
        if bound.wrong_at_most is not None and bound.wrong_at_most < 1:
            console.print(
                f"0 of {bound.seen} {what}: with 95 % confidence less than "
                f"{bound.wrong_at_most:.3g} of all are wrong ({bound.nines:g} nines)"
            )


def _show_difference(console: Console, result: AuditResult, difference: Any) -> None:
    where = f"{result.scope.kind} {_named(result.scope)}, {difference.object}, at {result.position}"
    only = f" is only in the {difference.only_in}" if difference.only_in else ""
    silent = "; the log doesn't record it, so readers get it from the database"
    console.print(f"{where}{only}{silent if difference.silent else ''}", style="bold")
    for field in difference.fields[:FIELDS_SHOWN]:
        console.print(f"  {field.field}: cache {field.cache!r}, database {field.database!r}")
    if len(difference.fields) > FIELDS_SHOWN:
        console.print(f"  and {len(difference.fields) - FIELDS_SHOWN} more fields")


def _named(scope: Scope) -> str:
    return ".".join(part for part in scope.name if part)
