"""`metatide explain`: says who answers a read, and why."""

from collections.abc import Iterator
from typing import Any, TypeVar

import click
import httpx
import msgspec

from hive.errors import UNDECODABLE
from hive.names import parse_table_name
from metatide.cli.reading import Server, reading, table_name
from metatide.client import Answer, Client, Need
from metatide.client.bound import http_settings
from query_api.http.page import cached_tables, overview
from query_api.http.page.cached_tables import TableCacheState, TableCacheStates
from query_api.http.page.overview import Overview
from query_api.reason_texts import text_of, why_cold
from query_api.reasons import Reason, Source
from state.records.routing import table_shard

T = TypeVar("T")

_READS = {
    "table": "the table",
    "partitions": "the partitions of the table",
    "statistics": "the column statistics of the table",
    "constraints": "the constraints of the table",
}


@click.command()
@click.argument("name", metavar="DB.TABLE", callback=table_name)
@click.option(
    "--of",
    "what",
    type=click.Choice(list(_READS)),
    default="table",
    show_default=True,
    help="What to read of the table.",
)
@reading
def command(client: Client, need: Need, server: Server, name: str, what: str) -> None:
    """Read a table, and say in sentences what was asked, what is known, and who answered and why.

    What is known is looked up before the read, because a read of a table that isn't in the cache
    has it loaded.
    """
    facts = [*_state_before(server, name)]
    answer = _read(client, what, name, need)
    click.echo(f"Asked: {_READS[what]} {parse_table_name(name)}, {_requirement(need)}.")
    for number, fact in enumerate(facts):
        click.echo(f"Known: {fact}." if number == 0 else f"{fact[0].upper()}{fact[1:]}.")
    for sentence in _answered(answer):
        click.echo(sentence)


def _read(client: Client, what: str, name: str, need: Need) -> Answer[Any]:
    match what:
        case "partitions":
            return client.partition_count(name, need=need)
        case "statistics":
            return client.statistics(name, need=need)
        case "constraints":
            return client.constraints(name, need)
        case _:
            return client.table(name, need)


def _requirement(need: Need) -> str:
    """The requirement in words."""
    implied = "write_ids" if need.write_ids else "within" if need.max_age_ms else "default"
    age = f"{need.max_age_ms} ms" if need.max_age_ms else "reads.max_age_ms"
    words = {
        "latest": "with everything that was committed before (latest)",
        "within": f"as of {age} ago at most (within)",
        "any": "in any state that it had (any)",
        "at_least": "from a certain position on (at_least)",
        "write_ids": f"with exactly the commits of the list {need.write_ids} (write_ids)",
        "default": "with the server's default consistency (latest unless configured otherwise)",
    }[need.consistency or implied]
    return words if need.min_position is None else f"{words}, complete up to {need.min_position}"


def _state_before(server: Server, name: str) -> Iterator[str]:
    """What the workers and the database know before the read."""
    with httpx.Client(**http_settings(server.url, server.settings)) as http:
        cached = _part(http.post(cached_tables.PATH, json={"tables": [name]}), TableCacheStates)
        group = _part(http.get(overview.PATH), Overview)
    if group is not None:
        yield _shard(group, table_shard(parse_table_name(name), group.shard_count))
    if cached is not None:
        yield _in_cache(cached.tables[0])
    if group is not None and group.event is not None:
        yield f"the last event in the metastore's database was {group.event}"


def _part(response: httpx.Response, kind: type[T]) -> T | None:
    """What the response says; None where a server has no such path, or doesn't let us see it."""
    try:
        return msgspec.json.decode(response.content, type=kind) if response.is_success else None
    except UNDECODABLE:
        return None


def _shard(group: Overview, number: int) -> str:
    for worker in group.workers:
        for shard in worker.shards:
            if shard.shard == number:
                name = (worker.status or {}).get("name", "a server of images")
                paused = "; serving is paused" if shard.paused else ""
                return (
                    f"it belongs to shard {number} of {group.shard_count}, which {name} holds, "
                    f"complete up to {shard.position}{paused}"
                )
    return f"it belongs to shard {number} of {group.shard_count}, which no worker holds"


def _in_cache(table: TableCacheState) -> str:
    if table.warm:
        return "the cache holds the table"
    if table.reason != Reason.COLD:
        return f"the cache doesn't answer for the table: {text_of(table.reason).meaning}"
    return f"the cache doesn't hold all of the table: {why_cold(table.detail)} ({table.detail})"


def _answered(answer: Answer[Any]) -> Iterator[str]:
    text = text_of(answer.reason)
    detail = f": {answer.detail}" if answer.detail else ""
    reason = f"({answer.reason}{detail})"
    yield f"Answer: from the {answer.source}, because {text.meaning} {reason}."
    yield f"It is complete up to {answer.position}."
    if answer.source != Source.CACHE:
        yield f"What to do: {text.remedy}."
