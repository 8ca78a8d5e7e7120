"""What `metatide audit` refuses; with a stack, see `tests.metatide.worker.test_shards`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import httpx
import orjson
import pytest
from click.testing import CliRunner
from starlette.routing import BaseRoute

from hive.errors import InputError, MachineError, UnprovedError
from hive.names import table_name
from metatide.cli import audit, root
from metatide.cli.audit import FIELDS_SHOWN
from metatide.cli.proved_workers import ProvedWorkers
from metatide.process.consoles import PlainConsole
from metatide.stack.machine import free_port
from query_api.audit import AuditResult, Field, ObjectDifference, totals
from query_api.audit.operations import AUDITS
from query_api.http.access import OPEN
from query_api.http.gate import Gate
from query_api.http.routes import routes_of
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.shards import Views
from state.records import Scope, ScopeKind
from tests.metatide.ordered_worker import proving
from tests.query_api.shards import ORDERS, MemoryShard, MemoryShards


@pytest.mark.parametrize("option", ["--sample", "--seed"])
def test_named_tables_are_no_sample(option: str) -> None:
    arguments = ["audit", "--table", "sales.orders", option, "3", "--kafka", "127.0.0.1:1"]
    with pytest.raises(InputError, match="leave out --sample and --seed"):
        CliRunner().invoke(root, arguments, catch_exceptions=False)


def test_a_worker_that_does_not_answer_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = f"http://127.0.0.1:{free_port()}"
    monkeypatch.setattr(audit, "events_topic", lambda _: None)
    monkeypatch.setattr(audit, "worker_urls", lambda *_: [nowhere])
    done = CliRunner().invoke(root, ["audit", "--data-dir", str(tmp_path)])
    assert isinstance(done.exception, MachineError)
    assert str(done.exception).startswith("a worker doesn't answer: ")


ORDERS_SCOPE = Scope(ScopeKind.TABLE, ORDERS)


def test_differences_and_bounds_are_shown_to_people(capsys: pytest.CaptureFixture[str]) -> None:
    fields = [Field(f"f{number}", number, None) for number in range(FIELDS_SHOWN + 2)]
    differences = [
        ObjectDifference("table", fields),
        ObjectDifference("partition ds=1", fields[:1], only_in="cache", silent=True),
    ]
    results = [
        AuditResult(ORDERS_SCOPE, Position(0, 5), 2, 1, differences),
        AuditResult(
            Scope(ScopeKind.TABLE, table_name(None, "sales", "cold")), left_out={"table": "cold"}
        ),
    ]
    audit._show(PlainConsole(width=500), results, totals(results), 9, 7)
    where = "table hive.sales.orders"
    assert capsys.readouterr().out.splitlines() == [
        f"{where}, table, at 0:5",
        *(f"  f{number}: cache {number}, database None" for number in range(FIELDS_SHOWN)),
        "  and 2 more fields",
        f"{where}, partition ds=1, at 0:5 is only in the cache; the log doesn't record it, so "
        "readers get it from the database",
        "  f0: cache 0, database None",
        "left out, because the cache doesn't answer it:",
        "  1 × cold",
        "2 of 9 tables and lists (seed 7): 2 objects compared, 1 differ",
    ]
    results = [AuditResult(ORDERS_SCOPE, Position(0, 5), 300)]
    audit._show(PlainConsole(width=500), results, totals(results), 1, 7)
    assert capsys.readouterr().out.splitlines() == [
        "1 of 1 tables and lists (seed 7): 300 objects compared, 0 differ",
        "0 of 300 objects: with 95 % confidence less than 0.01 of all are wrong (2 nines)",
    ]


def test_a_table_that_only_the_cache_has_is_a_difference_and_no_error() -> None:
    gone = ObjectDifference("table", [], only_in="cache")
    result = AuditResult(ORDERS_SCOPE, Position(0, 5), 1, 1, [gone])
    with httpx.Client() as client:
        audit._require(client, ProvedWorkers([]), [result])


class Owner:
    """Compares all that it is asked for, or has none of it."""

    views = Views(MemoryShards(MemoryShard()))

    def __init__(self, objects: int) -> None:
        self._objects = objects

    async def audit(self, scopes: Sequence[Scope]) -> list[AuditResult]:
        left_out = {} if self._objects else {"table": str(Reason.NOT_OWNED)}
        return [AuditResult(scope, objects=self._objects, left_out=left_out) for scope in scopes]


def routes(objects: int) -> list[BaseRoute]:
    auditor: Any = Owner(objects)
    return [*routes_of(AUDITS, auditor, Gate(OPEN))]


@pytest.mark.parametrize("is_last", [False, True])
@pytest.mark.parametrize("objects", [0, 3])
def test_a_member_of_the_group_that_proves_nothing_is_named_and_left_out(
    tmp_path: Path,
    workers_secret: Path,
    monkeypatch: pytest.MonkeyPatch,
    objects: int,
    is_last: bool,
) -> None:
    monkeypatch.setenv("METATIDE_WORKER_SECRET_FILE", str(workers_secret))
    monkeypatch.setattr(audit, "events_topic", lambda _: None)
    with (
        proving(None, routes(9), "127.0.0.1") as stranger,
        proving(workers_secret, routes(objects)) as url,
    ):
        members = [url, stranger] if is_last else [stranger, url]
        monkeypatch.setattr(audit, "worker_urls", lambda *_: members)
        command = ["audit", "--data-dir", str(tmp_path)]
        drawn = CliRunner().invoke(root, command)
        named = CliRunner().invoke(root, [*command, "--table", "sales.orders"])
        members = [stranger]
        alone = CliRunner().invoke(root, command)
    assert drawn.stderr.startswith(f"left out: {stranger.removeprefix('http://')} doesn't prove")
    assert (drawn.exit_code, drawn.stderr.count("left out")) == (0, 1)
    compared = orjson.loads(named.stdout)["totals"]
    assert compared["objects"]["seen"] == objects
    assert compared["left_out"] == ({} if objects else {"not_owned": 1})
    assert isinstance(alone.exception, UnprovedError)
