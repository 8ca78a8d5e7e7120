"""That the references describe what there is, and that every link leads somewhere."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from metatide.cli import COMMANDS, root
from query_api.consistency import Consistency
from query_api.thrift.methods.method_table import methods

ROOT = Path(__file__).parents[1]
PAGES = sorted(
    path
    for pattern in ("*.md", "docs/**/*.md", "compose/**/*.md", "benchmarks/**/*.md")
    for path in ROOT.glob(pattern)
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
IDENTIFIER = re.compile(r"\b[a-z]\w*_\w+\b")
"""A name of several words, as functions, modules and keys have."""


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
def test_every_command_and_option_that_a_page_names_exists(page: Path) -> None:
    by_path = dict(commands(root, "metatide"))
    options = {name for command in by_path.values() for name in options_of(command)}
    wrong = []
    prose = re.sub(r"^ *```.*?^ *```$", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for span in re.findall(r"`([^`]+)`", prose):
        words = span.split()
        if words[0] == "metatide":
            path = longest(words, by_path)
            has_children = isinstance(by_path[path], click.Group)
            rest = words[len(path.split()) :]
            if has_children and rest and not rest[0].startswith("-"):
                wrong.append(span)
            of_command = options_of(by_path[path])
            wrong += [span for word in rest if is_option(word) and word not in of_command]
        elif is_option(words[0]) and words[0] not in options | OPTIONS_OF_OTHERS:
            wrong.append(span)
    assert wrong == []


OPTIONS_OF_OTHERS = {"--keys", "--profile"}
"""Those of benchmarks and of Docker Compose."""


def is_option(word: str) -> bool:
    return word.startswith("--")


def options_of(command: click.Command) -> set[str]:
    return {name for parameter in command.params for name in parameter.opts} | {"--help"}


def longest(words: list[str], by_path: dict[str, click.Command]) -> str:
    """The path of the command that these words begin with."""
    count = len(words)
    while " ".join(words[:count]) not in by_path:
        count -= 1
    return " ".join(words[:count])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_within_the_project_leads_somewhere(page: Path) -> None:
    links = [link.partition("#")[0] for link in LINK.findall(page.read_text())]
    local = [link for link in links if link and not re.match(r"[a-z]+:", link)]
    assert [link for link in local if not (page.parent / link).exists()] == []


def test_what_an_answer_promises_is_said_of_each_consistency() -> None:
    table, _, _ = (ROOT / "docs" / "promises.md").read_text().partition("\n## ")
    told = re.findall(r"^\| `(\w+)`", table, re.MULTILINE)
    assert sorted(told) == sorted(Consistency)


def test_the_page_of_thrift_methods_names_each_that_the_cache_answers() -> None:
    """An ellipsis stands for the beginning of a name that is written out before it."""
    page = (ROOT / "docs" / "thrift-methods.md").read_text()
    answered = set(methods(""))
    listed = set[str]()
    for cell in re.findall(r"^\| (`(?:get|fetch|list)_[^|]+) \|", page, re.MULTILINE):
        names = re.findall(r"`([\w…]+)`", cell)
        whole = [name for name in names if "…" not in name]
        listed.update(whole)
        for end in (name.removeprefix("…") for name in names if "…" in name):
            beginnings = {name[:length] for name in whole for length in range(1, len(name) + 1)}
            meant = {beginning + end for beginning in beginnings} & answered
            assert meant, f"…{end} beside {whole}"
            listed |= meant
    assert answered <= listed, answered - listed
    assert listed - answered <= NAMED_OTHERWISE


NAMED_OTHERWISE = {"get_current_notificationEventId"}
"""What is answered without a read of objects."""


def test_every_name_in_the_architecture_occurs_in_the_code() -> None:
    folders = (
        "hive",
        "state",
        "connectors",
        "processors",
        "query_api",
        "metatide",
        "scripts",
        "tests",
    )
    sources = {path for folder in folders for path in (ROOT / folder).rglob("*.py")}
    words = {word for path in sources for word in IDENTIFIER.findall(path.read_text())}
    spans = re.findall(r"`([^`\n]+)`", (ROOT / "docs" / "architecture.md").read_text())
    names = {name for span in spans for name in IDENTIFIER.findall(span)}
    assert "answer_from_cache" in names
    assert names - words - {path.stem for path in sources} == set()


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
