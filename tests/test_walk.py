"""That README.md and docs/ can be followed: their commands, on a fresh stack, in order."""

import os
import pty
import re
import shlex
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import click
import pytest

from metatide.cli import root
from metatide.stack.ownership import end_orphans
from metatide.stack.state import StateFile
from tests.support.processes import die_with_parent, open_folder
from tests.support.stacks import processes_on
from tests.support.terminal import run_on_a_terminal, terminal_environment
from tests.support.transcripts import Command, commands, inline_commands, prints_as_shown

pytestmark = [pytest.mark.hive, pytest.mark.timeout(900)]

ROOT = Path(__file__).parents[1]
README = ROOT / "README.md"
FOLLOWED_ELSEWHERE = ("bare-machines.md", "compose.md", "kubernetes.md")
"""What `tests/containers` and `tests/deploy` follow."""
DOCS = sorted(path for path in (ROOT / "docs").glob("*.md") if path.name not in FOLLOWED_ELSEWHERE)
PATIENCE_S = 240.0
AGAIN_S = 60.0
"""How long what is loaded in the background may take to be as it is shown."""
_POLL_S = 0.1
_STARTS_A_STACK = ("make up", ".venv/bin/metatide up")
_ENDLESS = {"connect", "demo run", "image follow", "serve", "up", "work"}
_ON_SPARK = {"image once", "report"}
_NEED_MORE = {"image create", "image prune", "rebuild", "topic trim"}
"""What needs a place of images, or a worker that is stopped."""
_ELSEWHERE = _ENDLESS | _ON_SPARK | _NEED_MORE
_READS = re.compile(r"metatide (?:doctor|explain|get)\b")
_TABLE = re.compile(r"\bt\d{5}\b")
"""A table of the demo. Which of them there are is up to chance: for one that a page has shown and
then uses, that one stands which was printed in its place."""
_NOT_INHERITED = ("METATIDE_", "MAKE", "MFLAGS")
"""What else would be set in the shells, also of a `make` that runs the tests."""


class Terminal:
    """A program that runs on a terminal of its own until Ctrl-C."""

    def __init__(self, command: str, environ: dict[str, str]) -> None:
        self.output = ""
        ours, theirs = pty.openpty()
        self.process = subprocess.Popen(
            ["bash", "-c", command],
            stdin=subprocess.DEVNULL,
            stdout=theirs,
            stderr=theirs,
            cwd=ROOT,
            env=environ,
            start_new_session=True,
            preexec_fn=die_with_parent(signal.SIGTERM),
        )
        os.close(theirs)
        self._reader = Thread(target=self._read, args=(ours,), daemon=True)
        self._reader.start()

    def _read(self, ours: int) -> None:
        with os.fdopen(ours, "rb", buffering=0) as reading:
            try:
                while part := reading.read(65536):
                    self.output += part.decode()
            except OSError:  # Linux raises this when the last writer has closed a terminal
                pass

    def until_shown(self, lines: list[str]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not prints_as_shown(lines, self._without_progress(), ordered=False):
            assert self.process.poll() is None, self.output
            assert time.monotonic() < deadline, self.output
            time.sleep(_POLL_S)

    def _without_progress(self) -> str:
        """The output without what is said once, while packages and jars are fetched."""
        lines = self.output[max(0, self.output.find("data in ")) :].splitlines(keepends=True)
        return "".join(line for line in lines if not line.startswith("metatide: "))

    def end(self) -> None:
        """Ctrl-C."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGINT)
        self.process.wait(PATIENCE_S)
        self._reader.join(PATIENCE_S)


class Walk:
    """A shell beside a stack, and what went differently from what the pages show."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.differences: list[str] = []
        self._stack: Terminal | None = None
        inherited = {
            name: text for name, text in os.environ.items() if not name.startswith(_NOT_INHERITED)
        }
        self._tables: dict[str, str] = {}
        # Wide enough for the longest path in a line.
        self._environ = terminal_environment(inherited, columns=250) | {
            "METATIDE_DATA_DIR": str(folder / "data"),
            "METATIDE_CACHE_DIR": os.environ.get("METATIDE_CACHE_DIR", ""),
        }

    def in_checkout(self, command: Command) -> None:
        """Follows a command of README.md, in the checkout, with nothing of it on the PATH."""
        if command.text.startswith(_STARTS_A_STACK):
            self.end()
            self._stack = Terminal(command.text, self._environ)
            self._stack.until_shown(command.prints)
        else:
            self._follow(command, ROOT, self._environ)

    def where_installed(self, command: Command) -> None:
        """Follows a command of docs/, in a folder of its own, with `metatide` on the PATH."""
        path = f"{ROOT / '.venv' / 'bin'}:{self._environ['PATH']}"
        self._follow(command, self.folder, {**self._environ, "PATH": path})

    @property
    def port(self) -> str:
        """The port of the worker."""
        state = StateFile(self.folder / "data").read()
        assert state is not None
        address = next(entry.address for entry in state.processes if entry.name == "worker-1")
        return address.rpartition(":")[2]

    def _follow(self, command: Command, cwd: Path, environ: dict[str, str]) -> None:
        deadline = time.monotonic() + AGAIN_S
        text = _TABLE.sub(lambda match: self._tables.get(match[0], match[0]), command.text)
        while True:
            status, output = run_on_a_terminal(
                ["bash", "-c", text],
                environ=environ,
                cwd=cwd,
                with_errors=True,
                timeout_s=PATIENCE_S,
            )
            as_shown = not command.is_transcript or prints_as_shown(command.prints, output)
            # A pair of write-id lists that differ has the status 1, and says so.
            if as_shown and (status == 0 or command.is_transcript):
                shown = _TABLE.findall("\n".join(command.prints))
                self._tables.update(zip(shown, _TABLE.findall(output), strict=False))
                return
            if time.monotonic() > deadline or not _READS.search(text):
                break
            time.sleep(_POLL_S)
        self.differences.append(f"{command.place} has ended with {status} and printed:\n{output}")

    def end(self) -> None:
        if self._stack is not None:
            self._stack.end()


@contextmanager
def walking() -> Iterator[Walk]:
    with open_folder() as folder:
        walk = Walk(folder)
        try:
            yield walk
        finally:
            walk.end()
            end_orphans(folder / "data")
        assert processes_on(folder) == []


def test_what_readme_and_docs_show_is_what_happens() -> None:
    with walking() as walk:
        for command in commands(README, README.name):
            walk.in_checkout(command)
        for page in DOCS:
            for command in commands(page, page.name):
                command.text = command.text.replace("PORT", walk.port)
                if not command.is_template:
                    walk.where_installed(command)
        for command in complete_inline_commands():
            walk.where_installed(command)
    assert not walk.differences, "\n".join(walk.differences)


def complete_inline_commands() -> list[Command]:
    """The commands in the text of all pages that say all that they need to run, and that end."""
    by_text = {
        command.text: command
        for page in (README, *DOCS)
        for command in inline_commands(page, page.name)
    }
    return [command for text, command in by_text.items() if not command.is_template and _ends(text)]


def _ends(text: str) -> bool:
    """Whether a command can be parsed as it stands, ends by itself, and needs nothing else."""
    command: click.Command = root
    context = click.Context(root)
    arguments = shlex.split(text)[1:]
    names = list[str]()
    while isinstance(command, click.Group) and arguments:
        names.append(arguments.pop(0))
        child = command.get_command(context, names[-1])
        assert child is not None, f"there is no {text}"
        command = child
    name = " ".join(names)
    if isinstance(command, click.Group) or name in _ELSEWHERE or "spark" in arguments:
        return False
    try:
        command.make_context(name, arguments)
    except click.UsageError:
        return False
    return True
