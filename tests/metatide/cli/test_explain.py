"""`metatide explain` against a real server."""

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from hive.errors import InputError
from metatide.cli import root
from metatide.cli.explain import _in_cache, _shard
from query_api.database_answer import DatabaseAnswer
from query_api.http.page import cached_tables, overview
from query_api.http.page.cached_tables import TableCacheState
from query_api.http.page.overview import Overview, ShardPart, WorkerPart
from query_api.reads import GetTable, Read
from query_api.reasons import Reason
from tests.metatide.client.serving import serving
from tests.metatide.client.warm_shards import WriteIdDatabase, warm
from tests.query_api.shards import table_bytes

ANY = ("--consistency", "any")


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with serving(warm(), WriteIdDatabase()) as at:
        yield at


def explain(url: str, *arguments: str) -> list[str]:
    done = CliRunner().invoke(
        root, ["explain", *arguments, "--server", url], catch_exceptions=False
    )
    assert done.exit_code == 0
    return done.stdout.splitlines()


def test_an_answer_from_the_cache_is_explained(url: str) -> None:
    assert explain(url, "sales.orders", *ANY) == [
        "Asked: the table hive.sales.orders, in any state that it had (any).",
        "Known: it belongs to shard 0 of 1, which a server of images holds, complete up to 0:5.",
        "The cache holds the table.",
        "The last event in the metastore's database was 5.",
        "Answer: from the cache, because the cache holds everything that this read must see "
        "(fresh).",
        "It is complete up to 0:5.",
    ]


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        (
            [],
            "the table hive.sales.orders, with the server's default consistency (latest unless "
            "configured otherwise).",
        ),
        (
            ["--consistency", "latest"],
            "the table hive.sales.orders, with everything that was committed before (latest).",
        ),
        (
            ["--of", "partitions", "--max-age-ms", "500"],
            "the partitions of the table hive.sales.orders, as of 500 ms ago at most (within).",
        ),
        (
            ["--of", "constraints", "--consistency", "at_least", "--min-position", "0:3"],
            "the constraints of the table hive.sales.orders, from a certain position on "
            "(at_least), complete up to 0:3.",
        ),
        (
            ["--of", "statistics", "--consistency", "any"],
            "the column statistics of the table hive.sales.orders, in any state that it had (any).",
        ),
        (
            ["--write-ids", "[1:]", "--table-id", "7"],
            "the table hive.sales.orders, with exactly the commits of the list [1:] (write_ids).",
        ),
    ],
)
def test_what_was_asked_is_said_in_words(url: str, arguments: list[str], first: str) -> None:
    assert explain(url, "sales.orders", *arguments)[0].startswith(f"Asked: {first}")


def test_what_a_server_does_not_tell_is_left_out(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with serving(warm()) as silent:
        assert [line.split()[:2] for line in explain(silent, "sales.orders", *ANY)[1:4]] == [
            ["Known:", "it"],
            ["The", "cache"],
            ["Answer:", "from"],
        ]
    # All that an older one has at an unknown path is an error, something else a page.
    monkeypatch.setattr(cached_tables, "PATH", "/v1/unknown")
    monkeypatch.setattr(overview, "PATH", "/v1/openapi.json")
    assert not [line for line in explain(url, "sales.orders", *ANY) if line.startswith("Known")]


def test_what_is_known_of_a_table_that_the_cache_does_not_answer_for() -> None:
    excluded = TableCacheState("hive.sales.orders", False, Reason.EXCLUDED, "", "")
    assert _in_cache(excluded).endswith(
        " for the table: the whitelist or the blacklist leaves the table out"
    )
    # A newer server has more reasons.
    assert _in_cache(replace(excluded, reason="novel")).endswith(": novel")


def test_who_holds_a_shard() -> None:
    shards = [ShardPart(number, f"0:{number}", number == 2, None) for number in range(3)]
    workers = [
        WorkerPart("", None, {"name": "a"}, [], shards[:1]),
        WorkerPart("http://b", None, {"name": "b"}, [], shards[1:]),
    ]
    group = Overview(4, "0:5", None, workers)
    assert [_shard(group, number) for number in (0, 2, 3)] == [
        "it belongs to shard 0 of 4, which a holds, complete up to 0:0",
        "it belongs to shard 2 of 4, which b holds, complete up to 0:2; serving is paused",
        "it belongs to shard 3 of 4, which no worker holds",
    ]


class Colder(WriteIdDatabase):
    """A database with a table that the cache doesn't have."""

    async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
        if isinstance(read, GetTable):
            return DatabaseAnswer(table_bytes(read.table), 5)
        return await super().answer(read)


def test_an_answer_from_the_database_is_explained_with_what_to_do() -> None:
    with serving(warm(), Colder()) as url:
        _, _, state, _, answer, position, remedy = explain(url, "lake.other")
    assert state == (
        "The cache doesn't hold all of the table: it hasn't been loaded yet (never_loaded)."
    )
    assert answer == (
        "Answer: from the database, because the cache has no copy that it can trust "
        "(cold: never_loaded)."
    )
    assert position == "It is complete up to 0:5."
    assert remedy.startswith("What to do: nothing at first: this read has asked for a load")


def test_a_table_that_does_not_exist_is_said(url: str) -> None:
    with pytest.raises(InputError, match=r"there is no table hive\.sales\.never$"):
        explain(url, "sales.never", "--consistency", "any")
