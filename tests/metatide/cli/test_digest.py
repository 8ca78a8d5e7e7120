import json
from pathlib import Path
from typing import Any

from click.testing import CliRunner, Result

from hive.names import table_name
from metatide.cli import root
from state.records import AnyRecord, Change
from state.records.actions import CreateTable
from state.records.objects import TableImage
from state.store import Identity, MemoryBudget, Store, StorePosition
from state.store.families import SHARD_FAMILIES
from tests.support.folding import folded_into

IDENTITY = Identity(format_version=1, topic_id="topic", partitions=1, shard=0)


def made(path: Path, *records: AnyRecord) -> Path:
    budget = MemoryBudget(16 * 1024 * 1024)
    with Store(path, IDENTITY, families=SHARD_FAMILIES, budget=budget) as store:
        txn = store.transaction()
        applied = folded_into(txn, records).applied
        store.commit(txn, StorePosition(0, applied, len(records)))
    return path


def create(event: int, data: bytes, name: str = "t") -> Change:
    image = TableImage(table_name(None, "db", name), 1, 0, False, False, data)
    return Change(0, event - 1, event, (CreateTable(image),))


def run(*paths: Path) -> Result:
    return CliRunner().invoke(root, ["digest", *map(str, paths)])


def answer(result: Result) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def test_the_digests_of_one_store(tmp_path: Path) -> None:
    found = answer(run(made(tmp_path / "one", create(1, b"x"))))
    assert (found["shard"], found["event_id"], found["offset"]) == (0, 1, 1)
    assert found["content"]["table hive.db.t"]


def test_equal_contents_that_came_about_in_different_ways(tmp_path: Path) -> None:
    first = made(tmp_path / "one", create(1, b"x"))
    second = made(tmp_path / "two", Change(0, 0, 6), create(7, b"x"))
    result = run(first, second)
    assert result.exit_code == 0
    assert answer(result) == {"compared": 1, "different": [], "in_one_only": 0}
    assert answer(run(first))["exact"] != answer(run(second))["exact"]


def test_contents_that_differ_are_named(tmp_path: Path) -> None:
    first = made(tmp_path / "one", create(1, b"x"), create(2, b"u", "u"))
    second = made(tmp_path / "two", create(1, b"y"))
    result = run(first, second)
    assert result.exit_code == 1
    expected = {"compared": 1, "different": ["table hive.db.t"], "in_one_only": 1}
    assert answer(result) == expected
