"""That the references describe what there is, and that every link leads somewhere."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from metatide.cli import COMMANDS, root
from query_api.requirement import Consistency

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "compose/**/*.md", "benchmarks/**/*.md")
    for path in ROOT.glob(pattern)
)
LINK = re.compile(r"\]\(([^)\s]+)\)")


def test_the_references_are_not_stale() -> None:
    command = [sys.executable, str(ROOT / "scripts" / "docs"), "--check"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def commands(command: click.Command, path: str) -> Iterator[tuple[str, click.Command]]:
    yield path, command
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            subcommand = command.get_command(context, name)
            assert subcommand is not None
            yield from commands(subcommand, f"{path} {name}")


def test_every_command_and_option_says_what_it_does() -> None:
    silent = []
    for path, command in commands(root, "metatide"):
        if not (command.help or "").strip():
            silent.append(path)
        for parameter in command.params:
            if isinstance(parameter, click.Option) and not (parameter.help or "").strip():
                silent.append(f"{path} {parameter.opts[0]}")
    assert not silent


def test_every_command_is_a_module_of_its_name() -> None:
    for name, module in COMMANDS.items():
        assert module == f"metatide.cli.{name.replace('-', '_')}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    links = [link.partition("#")[0] for link in LINK.findall(page.read_text())]
    local = [link for link in links if link and not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_what_an_answer_promises_is_said_of_each_consistency() -> None:
    table, _, _ = (ROOT / "docs" / "promises.md").read_text().partition("\n## ")
    told = re.findall(r"^\| `(\w+)`", table, re.MULTILINE)
    assert sorted(told) == sorted(Consistency)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_to_a_chapter_leads_to_one(page: Path) -> None:
    links = re.findall(r"\]\(([^)\s:#]*)#([^)\s]+)\)", page.read_text())
    astray = [
        f"{path}#{anchor}"
        for path, anchor in links
        if anchor not in anchors(page.parent / path if path else page)
    ]
    assert astray == []


def anchors(page: Path) -> set[str]:
    """As they are made of headings: in small letters, with dashes for blanks."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", one.lower()).replace(" ", "-") for one in headings}
