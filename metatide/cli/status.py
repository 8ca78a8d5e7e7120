"""`metatide status`: the workers of a group and the positions of their shards."""

from typing import Any

import click
import httpx
import orjson
from rich.console import Console
from rich.table import Table

from metatide.config import Effective, configured
from metatide.members import json_of, members, scheme, worker_client
from metatide.topic import events_topic

_TIMEOUT_S = 10.0


@click.command()
@configured("data_dir", "kafka.bootstrap_servers")
@click.option("--group", metavar="NAME", help="The group, instead of worker.group.")
@click.option("--content", is_flag=True, help="Also count tables and objects, which takes a while.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as when piped.")
def command(effective: Effective, group: str | None, content: bool, as_json: bool) -> None:
    """Show the workers of a group: their shards, positions and lags, and problems.

    Kafka knows the workers' addresses; the rest is asked of each worker.
    """
    topic = events_topic(effective.config)
    name = group or effective.config.worker.group
    with worker_client(effective.config, _TIMEOUT_S) as client:
        workers = [
            _ask(client, member, f"{scheme(effective.config)}://{address}", content)
            for member, address in members(topic, name)
        ]
    console = Console()
    if as_json or not console.is_terminal:
        click.echo(orjson.dumps({"group": name, "workers": workers}, option=orjson.OPT_INDENT_2))
        return
    for worker in workers:
        _show(console, worker)
    if not workers:
        console.print(f"group {name} has no members: start a worker (metatide work)")


def _ask(client: httpx.Client, name: str, address: str, content: bool) -> dict[str, Any]:
    url = f"{address}/v1/status"
    try:
        # Everybody may ask this, so nobody needs to be told a token.
        status: dict[str, Any] = client.get(url, auth=None).raise_for_status().json()
        for shard in status["shards"] if content else ():
            answer = client.get(f"{url}/shards/{shard['shard']}", timeout=600)
            shard["content"] = orjson.loads(json_of(answer))
    except httpx.HTTPError as error:
        return {"name": name, "address": address, "unreachable": str(error), "shards": []}
    return status


def _show(console: Console, worker: dict[str, Any]) -> None:
    if "unreachable" in worker:
        console.print(f"{worker['name']} ({worker['address']}) doesn't answer", style="red")
        return
    ready = "ready" if worker["ready"] else "not ready"
    console.print(
        f"{worker['name']} ({worker['address']}) {ready}, stores {worker['disk_bytes'] >> 20} MiB, "
        f"memory {worker['memory_bytes'] >> 20} MiB, {worker['asks_waiting']} asks waiting"
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
