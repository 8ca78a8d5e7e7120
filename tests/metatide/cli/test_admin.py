"""What operators see of orders; with a stack, see `tests.metatide.worker.test_shards`."""

from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import httpx
import orjson
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from hive.errors import InputError, MachineError, UnprovedError
from hive.write_ids.lists import write_id_list
from metatide.cli import admin, root, worker_orders
from metatide.cli.admin import _groups_alike
from metatide.cli.proved_workers import ProvedWorkers
from metatide.cli.worker_orders import WorkerOrders
from metatide.stack.machine import free_port
from query_api.database.reads import GetWriteIds, Snapshots, TableSnapshot
from query_api.database_answer import DatabaseAnswer
from query_api.reads import GetTables, Read
from tests.metatide.client.serving import serving
from tests.metatide.client.warm_shards import WriteIdDatabase, warm
from tests.metatide.ordered_worker import worker
from tests.query_api.http.read_client import Nowhere
from tests.query_api.shards import ORDERS

SHARDS = st.lists(
    st.builds(
        lambda paused, lists: {"paused": paused, "whitelist": lists, "blacklist": []},
        st.booleans(),
        st.sampled_from(([], ["db.*"])),
    ),
    max_size=12,
)


@pytest.mark.parametrize("what", ["warm", "refresh", "drop"])
def test_a_pattern_is_no_table(what: str) -> None:
    done = CliRunner().invoke(root, ["admin", what, "sales.orders", "sales.*"])
    assert done.exit_code == 2
    assert "sales.* is not a table" in done.output


class OrdersAt(WorkerOrders):
    """Orders to workers at a URL, which are noted; the workers are asked everything else."""

    def __init__(self, url: str, orders: list[tuple[str, tuple[str, ...]]]) -> None:
        self._client = click.get_current_context().with_resource(httpx.Client(trust_env=False))
        self._workers = ProvedWorkers([url])
        self._orders = orders

    def send(self, order: str, **body: Any) -> None:
        self._orders.append((order, body["tables"]))


def ordered(what: str, *tables: str, database: Nowhere | None = None) -> tuple[list[str], Result]:
    """The tables that something was ordered for, and what the command said."""
    orders: list[tuple[str, tuple[str, ...]]] = []
    with serving(warm(), database or Lacking()) as url, pytest.MonkeyPatch.context() as patch:
        patch.setattr(admin, "WorkerOrders", lambda _: OrdersAt(url, orders))
        done = CliRunner().invoke(root, ["admin", what, *tables])
    assert {name for name, _ in orders} <= {what}
    return [table for _, names in orders for table in names], done


class Lacking(WriteIdDatabase):
    """A database of one table."""

    async def answer(self, read: Read[Any]) -> DatabaseAnswer[Any]:
        if isinstance(read, GetTables):
            return DatabaseAnswer([], 5)
        if isinstance(read, GetWriteIds):
            tables = [
                TableSnapshot(
                    name, 7 if name == ORDERS else None, write_id_list(1, table=str(name))
                )
                for name in read.tables
            ]
            return DatabaseAnswer(Snapshots(write_id_list(60), tables), 5)
        return await super().answer(read)


@pytest.mark.parametrize("what", ["warm", "refresh"])
def test_a_table_that_does_not_exist_is_not_loaded(what: str) -> None:
    tables, done = ordered(what, "sales.orders", "sales.never", "hive.sales.no")
    assert tables == []
    assert isinstance(done.exception, InputError)
    assert str(done.exception) == "there is no table hive.sales.never and no table hive.sales.no"
    tables, done = ordered(what, "sales.orders")
    assert (tables, done.exit_code) == (["sales.orders"], 0)
    assert " it " in done.stderr


def test_what_does_not_exist_is_dropped_from_the_cache_alone() -> None:
    tables, done = ordered("drop", "sales.orders", "sales.never")
    assert tables == ["sales.orders", "sales.never"]
    assert done.stderr.splitlines() == [
        "sales.orders: will be dropped until somebody reads it",
        "there is no table hive.sales.never in the metastore: the cache drops it, if it holds it",
    ]
    _, done = ordered("drop", "sales.never", "sales.no")
    assert done.stderr == (
        "there is no table hive.sales.never and no table hive.sales.no in the metastore: "
        "the cache drops them, if it holds them\n"
    )


def test_a_drop_says_nothing_of_what_nobody_can_look_up(monkeypatch: pytest.MonkeyPatch) -> None:
    _, expected = ordered("drop", "sales.orders")
    assert expected.stderr == "sales.orders: will be dropped until somebody reads it\n"
    _, done = ordered("drop", "sales.orders", database=Nowhere())
    assert (done.exit_code, done.stderr) == (0, expected.stderr)

    def fail(*_: object, **__: object) -> httpx.Response:
        raise httpx.ReadTimeout("")

    monkeypatch.setattr(httpx.Client, "post", fail)
    _, done = ordered("drop", "sales.orders")
    assert (done.exit_code, done.stderr) == (0, expected.stderr)


@pytest.fixture
def run(
    tmp_path: Path, workers_secret: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., Result]:
    """Runs a command of an operator for members of the group, and a topic of so many shards."""
    monkeypatch.setenv("METATIDE_WORKER_SECRET_FILE", str(workers_secret))

    def run(urls: list[str], *arguments: str, shards: int = 1) -> Result:
        monkeypatch.setattr(worker_orders, "find_topic", lambda _: SimpleNamespace(shards=shards))
        monkeypatch.setattr(worker_orders, "worker_urls", lambda *_: urls)
        command = ["admin", *arguments, "--data-dir", str(tmp_path)]
        return CliRunner().invoke(root, command)

    return run


def test_orders_pass_by_a_member_of_the_group_that_proves_nothing(
    run: Callable[..., Result], workers_secret: Path
) -> None:
    with (
        worker(None, host="127.0.0.1") as (stranger, swallowed),
        worker(workers_secret) as (url, connectors),
    ):
        warmed = run([stranger, url], "warm", "sales.orders")
        shown = run([stranger, url], "show")
        refused = run([stranger], "pause")
    assert (warmed.exit_code, swallowed.orders, len(connectors.orders)) == (0, [], 1)
    assert (shown.exit_code, len(orjson.loads(shown.stdout))) == (0, 1)
    for done in (warmed, shown):
        assert done.stderr.startswith(f"left out: {stranger.removeprefix('http://')} doesn't prove")
        assert done.stderr.count("left out") == 1
    assert isinstance(refused.exception, UnprovedError)


@pytest.mark.parametrize("command", [["warm", "sales.orders"], ["show"]])
def test_a_worker_that_does_not_answer_is_said(
    run: Callable[..., Result], command: list[str]
) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    done = run([url], *command)
    assert isinstance(done.exception, MachineError)
    assert str(done.exception).startswith(url)
    assert "doesn't answer: " in str(done.exception)


@pytest.mark.parametrize("what", ["pause", "reset"])
def test_nothing_is_ordered_that_shards_of_a_member_that_is_left_out_may_ignore(
    run: Callable[..., Result], workers_secret: Path, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(worker_orders, "APPLIED_S_MAX", 0)
    with (
        worker(None, host="127.0.0.1") as (stranger, _),
        worker(workers_secret) as (url, connectors),
    ):
        done = run([stranger, url], what, shards=2)
        assert connectors.orders == []
        assert "the state of shard 1, so the order wasn't sent: start" in str(done.exception)
        # The shard is shown, but nobody applies orders here.
        unapplied = run([stranger, url], what)
        assert len(connectors.orders) == 1
        assert "(missing: 0): is a connector running" in str(unapplied.exception)
    blamed = f" Left out above, {stranger.removeprefix('http://')} may hold what is missing"
    for exception in (done.exception, unapplied.exception):
        assert isinstance(exception, MachineError)
        assert str(exception).endswith(blamed)


@given(SHARDS, st.sets(st.integers(0, 11)))
def test_shards_are_shown_together_where_they_follow_each_other_and_are_alike(
    states: list[dict[str, Any]], away: set[int]
) -> None:
    shards = [
        {"shard": number, **state} for number, state in enumerate(states) if number not in away
    ]
    groups = [*_groups_alike(shards)]
    assert [shard for group in groups for shard in group] == shards
    for group in groups:
        numbers = [shard["shard"] for shard in group]
        assert numbers == [*range(numbers[0], numbers[-1] + 1)]
        assert all({**shard, "shard": 0} == {**group[0], "shard": 0} for shard in group)
    for previous, next_ in pairwise(groups):
        follows = previous[-1]["shard"] + 1 == next_[0]["shard"]
        assert not (follows and {**previous[0], "shard": 0} == {**next_[0], "shard": 0})
