"""`metatide doctor`: checks what Metatide needs, and suggests remedies."""

import json
import sys

import click
from rich.table import Table
from rich.text import Text

from metatide.config import Effective, configured
from metatide.doctor import Result, Status, examine, find_target
from metatide.process.consoles import PlainConsole

_STYLES = {Status.OK: "green", Status.FAILED: "bold red", Status.UNCHECKED: "dim"}


@click.command("doctor")
@configured("data_dir", "kafka.bootstrap_servers", "database.url", "upstream.url")
@click.option(
    "--json", "as_json", is_flag=True, help="Print one JSON object per line, as when piped."
)
def command(effective: Effective, as_json: bool) -> None:
    """Check what Metatide needs, and say how to fix what is missing.

    Examines what the configuration names; for what it doesn't name, the stack that `metatide up`
    runs on the same data directory. The exit status is 1 if a check fails.
    """
    console = PlainConsole()
    results = []
    with PlainConsole(stderr=True).status("examining"):
        for result in examine(find_target(effective.config)):
            results.append(result)
            if as_json or not console.is_terminal:
                click.echo(json.dumps(_as_object(result), ensure_ascii=False))
    if console.is_terminal and not as_json:
        console.print(_as_table(results))
    sys.exit(any(result.finding.status is Status.FAILED for result in results))


def _as_object(result: Result) -> dict[str, str | None]:
    finding = result.finding
    return {
        "check": result.check,
        "status": finding.status.value,
        "detail": finding.detail,
        "remedy": finding.remedy,
    }


def _as_table(results: list[Result]) -> Table:
    table = Table(box=None, pad_edge=False, show_header=False)
    for result in results:
        finding = result.finding
        style = _STYLES[finding.status]
        detail = Text(finding.detail)
        if finding.remedy:
            detail.append(f"\n→ {finding.remedy}", style="italic")
        table.add_row(Text(finding.status.value, style), Text(result.check), detail)
    return table
