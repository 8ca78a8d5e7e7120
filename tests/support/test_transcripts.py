"""That what a document shows is compared with what is printed, and no more than its shape."""

from pathlib import Path

import pytest

from tests.support.transcripts import Command, commands, inline_commands, prints_as_shown

PAGE = """\
Text with `metatide status` and `metatide topic trim --images
URL` in it.

```console
$ metatide get tables demo1_0 \\
    --limit 4
t00001  VIRTUAL_VIEW  hive
…
answered from the cache (fresh); complete up to 0:1528
$ metatide status
```

```toml
workers = 2
```

```sh
openssl rand -hex 32 > secret
metatide work …
```
"""


@pytest.fixture
def page(tmp_path: Path) -> Path:
    path = tmp_path / "page.md"
    path.write_text(PAGE)
    return path


def test_commands_are_found_with_what_they_print(page: Path) -> None:
    tables, status, secret, work = commands(page, "page.md")
    assert tables.text == "metatide get tables demo1_0 --limit 4"
    assert tables.prints[0].startswith("t00001")
    assert len(tables.prints) == 3
    assert (status.text, status.prints) == ("metatide status", [])
    assert secret.text == "openssl rand -hex 32 > secret"
    assert [command.is_template for command in (tables, status, secret, work)] == [
        *([False] * 3),
        True,
    ]
    assert [command.is_transcript for command in (status, secret)] == [True, False]


def test_commands_in_the_text_are_found(page: Path) -> None:
    assert [(command.text, command.line) for command in inline_commands(page, "page.md")] == [
        ("metatide status", 1),
        ("metatide topic trim --images URL", 1),
    ]


@pytest.mark.parametrize(
    ("text", "is_template"),
    [
        ("metatide status --group", False),
        ("metatide admin skip SHARD OFFSET", True),
        ("metatide up --workers N", True),
        ("metatide doctor --upstream thrift://hms:9083", True),
        ("metatide admin warm DB.TABLE…", True),
        ("METATIDE_WORKERS=2 metatide up", False),
        ("curl 'http://127.0.0.1:PORT/v1'", True),
    ],
)
def test_a_template_is_told_by_its_placeholders(text: str, is_template: bool) -> None:
    assert Command("", 1, text).is_template is is_template


SHOWN = [
    "data in /home/ann/.local/share/metatide",
    "…",
    "  connect      0.7 s  http://127.0.0.1:30124",
    "t00028  MANAGED_TABLE   hive",
    "loads      ━━━━━━━━ 96/96 1.4 MB 20 s 0:00:03",
]
PRINTED = """\
data in /tmp/x/data\r
  kafka 1.0 s\r
  connect     10.7 s  http://127.0.0.1:301\r
t7  EXTERNAL_TABLE   hive\r

loads  ━━ 9/1,196 914 bytes 3 min 0:10:03\r
"""


def test_numbers_folders_and_bars_may_differ() -> None:
    assert prints_as_shown(SHOWN, PRINTED)
    assert not prints_as_shown(SHOWN, PRINTED.replace("connect", "worker"))
    assert not prints_as_shown(SHOWN, PRINTED.replace("9/1,196", "all"))
    assert not prints_as_shown(SHOWN, f"{PRINTED}more\n")
    assert not prints_as_shown(SHOWN, PRINTED.removeprefix("data"))


def test_lines_of_what_starts_together_have_no_order() -> None:
    shown = ["  kafka  3.6 s", "  http  0.9 s", "ready in 5.2 s"]
    printed = "http 1 s\nkafka 2 s\nready in 3.1 s\n"
    assert prints_as_shown(shown, printed, ordered=False)
    assert not prints_as_shown(shown, printed)
    assert not prints_as_shown(shown, "http 1 s\nready in 3.1 s\n", ordered=False)
    assert not prints_as_shown(shown, f"{printed}again\n", ordered=False)
