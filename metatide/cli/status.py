"""`metatide status`: the connectors, the workers of a group and the positions of their shards."""

import sys
from collections.abc import Sequence
from typing import Any, Final

import click
import httpx
import msgspec
import orjson
from rich.console import Console
from rich.table import Table

from hive.errors import UNDECODABLE, MachineError
from metatide.config import Config, Effective, configured
from metatide.health import ConnectorHealth, Health, Level, combined, hear_once, judge
from metatide.health.thresholds import thresholds, worst
from metatide.members import json_of, members, scheme, worker_client
from metatide.process.consoles import PlainConsole
from metatide.topic import events_topic
from state.topic import Topic

_TIMEOUT_S = 10.0
EXIT_STATUS: Final = {Level.GREEN: 0, Level.AMBER: 3, Level.RED: 4}
_STYLES: Final = {Level.GREEN: "green", Level.AMBER: "yellow", Level.RED: "red"}


class _Shard(msgspec.Struct):
    """What is shown of a shard."""

    shard: int
    phase: str
    fault: str | None
    epoch: int
    event_id: int
    lag_records: int
    lag_ms: int
    image_age_s: float | None


class _Answer(msgspec.Struct):
    """The part of a worker's status that is looked into: whoever may join the group answers."""

    name: str
    address: str
    ready: bool
    disk_bytes: int
    memory_bytes: int
    load_requests_waiting: int
    shards: list[_Shard]
    health: Health | None = None


@click.command()
@configured("data_dir", "kafka.bootstrap_servers")
@click.option("--group", metavar="NAME", help="The group, instead of worker.group.")
@click.option("--content", is_flag=True, help="Also count tables and objects, which takes a while.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as when piped.")
def command(effective: Effective, group: str | None, content: bool, as_json: bool) -> None:
    """Show the connectors and the workers of a group: shards, positions and lags, and problems.

    Kafka knows the workers' addresses; the rest is asked of each worker, which reads in the
    metastore's database what the cache lacks. The exit status is 0 if all is well, 3 if something
    is late (`health.amber_s`) or a worker isn't ready, and 4 if somebody must look at it now
    (`health.red_s`), or if there is no worker.
    """
    config = effective.config
    topic = events_topic(config)
    name = group or config.worker_group
    with worker_client(config, _TIMEOUT_S) as client:
        workers = [
            _ask(client, member, f"{scheme(config)}://{address}", content)
            for member, address in members(topic, name)
        ]
    health = _health(config, topic, workers)
    health = _with_workers(health, name, workers)
    console = PlainConsole()
    if as_json or not console.is_terminal:
        report = {"group": name, "health": msgspec.to_builtins(health), "workers": workers}
        click.echo(orjson.dumps(report, option=orjson.OPT_INDENT_2))
    else:
        _show_health(console, health)
        for worker in workers:
            _show(console, worker)
    sys.exit(EXIT_STATUS[health.level])


def _health(config: Config, topic: Topic, workers: Sequence[dict[str, Any]]) -> Health:
    """The health as the workers see it; without any, by what can be heard here."""
    healths = [worker["health"] for worker in workers if worker.get("health")]
    if healths:
        return combined(msgspec.convert(healths, list[Health]))
    limits = thresholds(config)
    try:
        connectors = hear_once(topic)
    except MachineError:
        # There is no topic of heartbeats before the first connector.
        connectors = []
    return judge(connectors, None, limits, unheard_s=float("inf"))


def _with_workers(health: Health, group: str, workers: Sequence[dict[str, Any]]) -> Health:
    """The health with the problems of the workers themselves."""
    level, problems = health.level, list(health.problems)
    for worker in workers:
        if "unreachable" in worker:
            problems.append(f"{worker['name']} doesn't answer")
        elif not worker["ready"]:
            problems.append(f"{worker['name']} isn't ready")
    if len(problems) > len(health.problems):
        level = worst((level, Level.AMBER))
    if not workers:
        level = Level.RED
        problems.append(f"group {group} has no members: start a worker (metatide work)")
    return msgspec.structs.replace(health, level=level, problems=problems)


def _show_health(console: Console, health: Health) -> None:
    style = _STYLES[health.level]
    for problem in health.problems:
        console.print(problem, style=style)
    if not health.problems and health.event is not None:
        console.print(f"all is well at event {health.event}", style=style)
    names = ("connector", "machine", "address", "position", "quiet s", "leads", "loads", "fault")
    table = Table(*names, box=None, pad_edge=False, header_style="bold")
    for connector in health.connectors:
        table.add_row(*_cells(connector), style=_STYLES[connector.level])
    console.print(table)


def _cells(connector: ConnectorHealth) -> tuple[str, ...]:
    return (
        connector.name,
        connector.host,
        connector.address,
        f"{connector.epoch}:{connector.position}",
        f"{connector.quiet_s:.1f}",
        f"{connector.leads} of {connector.partitions}",
        str(connector.loads_waiting),
        connector.fault or "",
    )


def _ask(client: httpx.Client, name: str, address: str, content: bool) -> dict[str, Any]:
    url = f"{address}/v1/status"
    unreachable = {"name": name, "address": address, "shards": []}
    try:
        # Everybody may ask this, so nobody needs to be told a token.
        answer = client.get(url, auth=None).raise_for_status()
        msgspec.json.decode(answer.content, type=_Answer)
    except httpx.HTTPError as error:
        return {**unreachable, "unreachable": str(error)}
    except UNDECODABLE as error:
        return {**unreachable, "unreachable": f"it answers something else: {error}"}
    status: dict[str, Any] = answer.json()
    if content:
        try:
            for shard in status["shards"]:
                answer = client.get(f"{url}/shards/{shard['shard']}", timeout=600)
                shard["content"] = orjson.loads(json_of(answer))
        except (httpx.HTTPError, MachineError) as error:
            status["content_unknown"] = str(error)
    return status


def _show(console: Console, worker: dict[str, Any]) -> None:
    if "unreachable" in worker:
        console.print(f"{worker['name']} ({worker['address']}) doesn't answer", style="red")
        return
    ready = "ready" if worker["ready"] else "not ready"
    console.print(
        f"{worker['name']} ({worker['address']}) {ready}, Metatide {worker.get('version', '?')}, "
        f"stores {worker['disk_bytes'] >> 20} MiB, "
        f"memory {worker['memory_bytes'] >> 20} MiB, "
        f"{worker['load_requests_waiting']} load requests waiting"
    )
    names = ("shard", "phase", "position", "lag records", "lag ms", "image s", "fault")
    table = Table(*names, box=None, pad_edge=False, header_style="bold")
    for shard in worker["shards"]:
        image = shard["image_age_s"]
        table.add_row(
            str(shard["shard"]),
            shard["phase"],
            f"{shard['epoch']}:{shard['event_id']}",
            str(shard["lag_records"]),
            str(shard["lag_ms"]),
            "" if image is None else f"{image:.0f}",
            shard["fault"] or "",
        )
    console.print(table)
    for shard in worker["shards"]:
        if shard.get("content"):
            _show_content(console, shard["content"])
    if "content_unknown" in worker:
        console.print(f"its content is unknown: {worker['content_unknown']}", style="yellow")


def _show_content(console: Console, content: dict[str, Any]) -> None:
    cold = ", ".join(f"{count} {why}" for why, count in content["tables_cold"].items())
    objects = ", ".join(
        f"{kind['count']} {name} of {kind['mean_bytes']:g} bytes"
        for name, kind in content["objects"].items()
        if kind["count"]
    )
    console.print(
        f"shard {content['shard']}: {content['store_bytes'] >> 10} KiB; warm tables: "
        f"{content['tables_warm']}; cold: {cold or 'none'}; {objects}"
    )
