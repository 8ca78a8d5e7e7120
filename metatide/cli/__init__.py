"""The `metatide` command. A subcommand is imported when it is called, so that the command
starts fast.
"""

import gc
import importlib
import sys
from types import ModuleType

import click

from hive.errors import MetatideError

COMMANDS: dict[str, str] = {
    "up": "metatide.cli.up",
    "admin": "metatide.cli.admin",
    "audit": "metatide.cli.audit",
    "config": "metatide.cli.config",
    "connect": "metatide.cli.connect",
    "demo": "metatide.cli.demo",
    "digest": "metatide.cli.digest",
    "doctor": "metatide.cli.doctor",
    "events": "metatide.cli.events",
    "fold": "metatide.cli.fold",
    "get": "metatide.cli.get",
    "prewarm": "metatide.cli.prewarm",
    "image": "metatide.cli.image",
    "rebuild": "metatide.cli.rebuild",
    "report": "metatide.cli.report",
    "serve": "metatide.cli.serve",
    "status": "metatide.cli.status",
    "work": "metatide.cli.work",
    "topic": "metatide.cli.topic",
    "write-ids": "metatide.cli.write_ids",
}
"""The name of each subcommand, with the module that defines `command`."""


class LazyGroup(click.Group):
    """A group that knows its subcommands by the name of their module."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        module = COMMANDS.get(cmd_name)
        if module is None:
            return None
        command = _imported(module).command
        assert isinstance(command, click.Command)
        return command


def _imported(name: str) -> ModuleType:
    """Imports a subcommand without garbage collection, which would take a sixth of the time for
    nothing.
    """
    if name in sys.modules:
        return sys.modules[name]
    gc.disable()
    try:
        return importlib.import_module(name)
    finally:
        gc.freeze()
        gc.enable()


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="metatide")
def root() -> None:
    """A never-stale cache for Apache Hive Metastore."""


def main() -> None:
    """The console script: prints our errors as one line on stderr and exits with their status."""
    try:
        root(prog_name="metatide")
    except MetatideError as error:
        click.echo(f"metatide: {error}", err=True)
        sys.exit(error.exit_status)
