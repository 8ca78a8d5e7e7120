"""What the page is made of: nothing of others, and no way for names to become markup."""

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser

import msgspec
import pytest

from query_api.http.page.files import FOLDER, INDEX, PREFIX, REASON_TEXTS, files
from query_api.reason_texts import COLD, REASONS
from tests.query_api.http.read_client import get
from tests.query_api.shards import MemoryShard, MemoryShards

LINES_MAX = 200
SVG = "http://www.w3.org/2000/svg"
MARKUP = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(")
PATHS = ["/", *(PREFIX + name for name in sorted(files()) if name != INDEX)]


def source(name: str) -> str:
    return files()[name].body.decode()


def modules() -> Iterator[tuple[str, str]]:
    return ((name, source(name)) for name in sorted(files()) if name.endswith(".js"))


def test_each_file_is_sent_with_a_policy_that_lets_nothing_else_in() -> None:
    for response in get(MemoryShards(MemoryShard()), *PATHS):
        assert response.status_code == 200
        directives = response.headers["content-security-policy"].split("; ")
        rules = dict(one.split(" ", 1) for one in directives)
        assert set(rules.values()) == {"'none'", "'self'"}
        assert rules["default-src"] == rules["base-uri"] == rules["form-action"] == "'none'"
        assert rules["frame-ancestors"] == "'none'"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["referrer-policy"] == "no-referrer"


def test_a_browser_that_has_a_file_does_not_get_it_again() -> None:
    shards = MemoryShards(MemoryShard())
    first = get(shards, *PATHS)
    for path, response in zip(PATHS, first, strict=True):
        assert response.headers["cache-control"] == "no-cache"
        headers = {"if-none-match": response.headers["etag"]}
        [again] = get(shards, path, headers=headers)
        assert (again.status_code, again.content) == (304, b"")
        [other] = get(shards, path, headers={"if-none-match": '"another"'})
        assert other.content == response.content
    assert len({response.headers["etag"] for response in first}) == len(PATHS)


def test_each_file_of_the_folder_is_sent() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(files()) - {REASON_TEXTS}


@pytest.mark.parametrize("name", sorted(files()))
def test_a_file_is_short_and_names_no_other_host(name: str) -> None:
    text = source(name)
    assert len(text.splitlines()) < LINES_MAX
    assert set(re.findall(r"""\w+://[^\s"'`]+""", text)) <= {SVG}
    assert not [word for word in MARKUP if word in text]


def test_everything_that_is_named_is_there() -> None:
    named = set(re.findall(rf'{PREFIX}([\w.]+)"', source(INDEX)))
    for name, text in modules():
        imported = re.findall(r'from "\./([\w.]+)"', text)
        assert set(imported) <= set(files()), name
        named.update(imported)
    assert named == set(files()) - {INDEX}


class Attributes(HTMLParser):
    """All names of attributes of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def handle_starttag(self, _: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.update(name for name, _ in attrs)


def test_the_document_has_no_script_or_style_within() -> None:
    parser = Attributes()
    parser.feed(source(INDEX))
    assert not {name for name in parser.names if name.startswith("on") or name == "style"}
    assert re.findall(r"<script(?! type=\"module\" src=)", source(INDEX)) == []
    assert "<style" not in source(INDEX)


def test_reasons_are_told_in_the_words_of_the_command_line() -> None:
    constants = re.findall(r"^export const (\w+) = (.+);$", source(REASON_TEXTS), re.MULTILINE)
    texts = {name: json.loads(value) for name, value in constants}
    assert texts == {"REASONS": msgspec.to_builtins(REASONS), "COLD": msgspec.to_builtins(COLD)}
