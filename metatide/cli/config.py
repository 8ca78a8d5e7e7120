"""`metatide config`: shows the configuration and its sources."""

import json

import click
from rich.table import Table

from metatide.cli.groups import Group
from metatide.config import KEYS, Effective, configured
from metatide.process.consoles import PlainConsole


@click.group("config", cls=Group)
def command() -> None:
    """Show the configuration."""


@command.command()
@configured(*(name for name, key in KEYS.items() if key.option))
@click.option("--json", "as_json", is_flag=True, help="Print JSON, as when piped.")
def show(effective: Effective, as_json: bool) -> None:
    """Print the effective value of every key, and where it was set. Secrets are masked."""
    console = PlainConsole()
    if as_json or not console.is_terminal:
        keys = {
            setting.key.name: {"value": setting.shown, "from": setting.origin}
            for setting in effective.settings
        }
        click.echo(json.dumps(keys, indent=2))
        return
    table = Table("key", "value", "from", box=None, pad_edge=False, header_style="bold")
    for setting in effective.settings:
        text = "" if setting.shown is None else json.dumps(setting.shown, ensure_ascii=False)
        table.add_row(
            setting.key.name, text, setting.origin, style="dim" if setting.default else None
        )
    console.print(table)
