"""`metatide explain` against a real server."""

from collections.abc import Iterator
from typing import Any

import pytest
from click.testing import CliRunner

from hive.errors import InputError
from metatide.cli import root
from query_api.database_answer import DatabaseAnswer
from query_api.reads import GetTable, Read
from tests.metatide.client.serving import serving
from tests.metatide.client.warm_shards import WriteIdDatabase, warm
from tests.query_api.shards import table_bytes


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
    assert explain(url, "sales.orders", "--consistency", "any") == [
        "Asked: the table hive.sales.orders, in any state that it had (any).",
        "Known: it belongs to shard 0 of 1, which a server of images holds, complete up to 0:5.",
        "Known: the cache holds the table.",
        "Known: the last event in the metastore's database was 5.",
        "Answer: from the cache, because it holds everything that this read must see (fresh).",
        "It is complete up to 0:5.",
    ]


@pytest.mark.parametrize(
    ("arguments", "first"),
    [
        ([], "the table hive.sales.orders, with everything that was committed before (latest), "),
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
            ["--write-ids", "[1:]", "--table-id", "7"],
            "the table hive.sales.orders, with exactly the commits of the list [1:] (write_ids).",
        ),
    ],
)
def test_what_was_asked_is_said_in_words(url: str, arguments: list[str], first: str) -> None:
    assert explain(url, "sales.orders", *arguments)[0].startswith(f"Asked: {first}")


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
        "Known: the cache doesn't hold all of the table: nobody has asked for it yet "
        "(never_loaded)."
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
