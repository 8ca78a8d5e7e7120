"""That what was mistyped is understood."""

import os
import subprocess
import sys

import pytest
from click.testing import CliRunner

from metatide.cli import COMMANDS, SECTIONS, root


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["prewram"], "No such command 'prewram'. Did you mean 'prewarm'?"),
        (["get", "partition-s", "a.b"], "Did you mean 'partitions' or 'partition'?"),
        (["admin", "shwo"], "Did you mean 'show'?"),
        (["write-ids", "compair"], "Did you mean 'compare'?"),
        (["xyzzy"], "No such command 'xyzzy'.\n"),
        (["--", "-x"], "No such option: -x"),
    ],
)
def test_a_command_that_does_not_exist_is_followed_by_similar_ones(
    arguments: list[str], says: str
) -> None:
    done = CliRunner().invoke(root, arguments)
    assert done.exit_code == 2
    assert says in done.output
    assert ("Did you mean" in done.output) == ("Did you mean" in says)


def test_an_option_in_place_of_a_command_is_told_as_one() -> None:
    done = CliRunner().invoke(root, ["--verison"])
    assert done.exit_code == 2
    assert "No such option: --verison Did you mean --version?" in done.output


def test_the_help_shows_every_command_once_in_a_section() -> None:
    shown = CliRunner().invoke(root, ["--help"]).output
    sections = [line[:-1] for line in shown.splitlines() if line and not line.startswith(" ")]
    assert sections[-len(SECTIONS) :] == list(SECTIONS)
    assert "Commands:" not in shown
    lines = [line.split()[0] for line in shown.splitlines() if line.startswith("  ")]
    assert [line for line in lines if line in COMMANDS] == list(COMMANDS)


def test_the_help_has_a_line_for_each_command_and_imports_none() -> None:
    program = (
        "import sys; from metatide.cli import COMMANDS, root;"
        "root(['--help'], standalone_mode=False); print({*COMMANDS.values()} & {*sys.modules})"
    )
    environment = {**os.environ, "COLUMNS": "80"}
    shown = subprocess.check_output([sys.executable, "-c", program], env=environment, text=True)
    assert shown.endswith("\nset()\n")
    for commands in SECTIONS.values():
        for name, does in commands.items():
            assert f"  {name.ljust(9)}  {does}\n" in shown
