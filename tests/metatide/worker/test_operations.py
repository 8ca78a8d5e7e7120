"""That the document tells of all that a worker serves, and of nothing else."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from msgspec.structs import replace
from starlette.applications import Starlette

from hive.collation import UNKNOWN
from hive.errors import MachineError
from metatide.cli.work import _settings
from metatide.config import Config, load
from metatide.config.values import GuardedPatterns
from metatide.stack.machine import LOOPBACK
from metatide.worker import thrift
from metatide.worker.application import worker_application
from metatide.worker.operations import OPERATIONS, THRIFT
from processors.worker.worker import Worker
from query_api.audit import Rounds
from query_api.database import Primary
from query_api.http.openapi import document
from query_api.resolver.resolver import Resolver
from query_api.resolver.shared_reads import LogEndReads
from query_api.shards import Views
from query_api.thrift.methods import CachedMethods
from tests.support.openapi import closed, validator

TOLD = document(OPERATIONS)
THRIFT_PORT = {"thrift.port": "0"}
READING_VERBS = {"count", "draw", "get", "list"}
ORDERING_VERBS = {
    "audit",
    "drop",
    "make",
    "pause",
    "refresh",
    "reset",
    "resume",
    "set",
    "skip",
    "warm",
}
Served = set[tuple[str, str]]


def described(told: dict[str, Any]) -> Served:
    return {(path, method) for path, methods in told["paths"].items() for method in methods}


def config(tmp_path: Path, **more: str) -> Config:
    # Nothing listens at these ports, and nothing is asked there.
    variables = {
        "data_dir": str(tmp_path),
        "kafka.bootstrap_servers": f"{LOOPBACK}:1",
        "database.url": f"postgresql://metatide@{LOOPBACK}:1/metastore",
        **more,
    }
    return load(variables, environ={}).config


@asynccontextmanager
async def application(config: Config) -> AsyncIterator[Starlette]:
    """That of a worker that hasn't begun to work."""
    async with AsyncExitStack() as parts:
        yield await worker_application(config, Worker(_settings(config, 1)), "http", parts)


async def get(app: Starlette, path: str, asker: str = LOOPBACK) -> httpx.Response:
    transport = httpx.ASGITransport(app, client=(asker, 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        return await client.get(path)


async def served(config: Config) -> tuple[Served, dict[str, Any]]:
    """What a worker's application has but for the page, and what it says that it has."""
    async with application(config) as app:
        description = (await get(app, "/v1/openapi.json")).json()
        routes = {
            (re.sub(r":\w+", "", route.path), method.lower())  # type: ignore[attr-defined]
            for route in app.routes
            for method in route.methods - {"HEAD"}  # type: ignore[attr-defined]
        }
    return {one for one in routes if one[0] != "/" and not one[0].startswith("/page/")}, description


async def test_all_that_a_worker_serves_is_described_and_no_more(tmp_path: Path) -> None:
    found, told = await served(config(tmp_path, **THRIFT_PORT))
    assert found == described(told)
    assert told == TOLD


@pytest.mark.parametrize("part", [Views, Resolver, LogEndReads])
async def test_its_servers_share_one_of_each_part(
    part: type, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, initialize = [], part.__init__  # type: ignore[misc]

    def count(self: object, *arguments: Any) -> None:
        made.append(self)
        initialize(self, *arguments)

    monkeypatch.setattr(part, "__init__", count)
    async with application(config(tmp_path, **THRIFT_PORT)) as app:
        assert (await get(app, "/v1/thrift")).json()["port"] > 0
        assert (await get(app, "/v1/overview")).status_code == 200
    assert len(made) == 1


async def test_the_database_is_asked_for_its_collation_until_it_answers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers: list[Any] = [MachineError("it is away"), MachineError("it is away"), UNKNOWN]
    is_known = asyncio.Event()

    def collation(_: Primary) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    monkeypatch.setattr(thrift, "ASK_AGAIN_S", 0)
    monkeypatch.setattr(Primary, "collation", collation)
    monkeypatch.setattr(CachedMethods, "set_collation", lambda *_: is_known.set())
    async with application(config(tmp_path, **THRIFT_PORT)), asyncio.timeout(30):
        await is_known.wait()
    assert answers == []


@pytest.mark.parametrize("every_s", [0, 60])
async def test_audits_run_in_the_background_where_they_are_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, every_s: int
) -> None:
    audits: list[Rounds] = []

    async def run(rounds: Rounds) -> None:
        audits.append(rounds)

    monkeypatch.setattr(Rounds, "run", run)
    plain = config(tmp_path)
    async with application(replace(plain, audit=replace(plain.audit, every_s=every_s))):
        await asyncio.sleep(0)
    assert len(audits) == bool(every_s)


async def test_a_shard_that_is_not_here_is_a_problem_that_says_so(tmp_path: Path) -> None:
    async with application(config(tmp_path)) as app:
        answer = await get(app, "/v1/status/shards/7")
    validator(TOLD, {"$ref": "#/components/schemas/Problem"}).validate(answer.json())
    assert (answer.status_code, answer.json()["detail"]) == (404, "shard 7 isn't open here")


async def test_a_shard_is_read_through_for_administrators_alone(tmp_path: Path) -> None:
    async with application(config(tmp_path)) as app:
        assert (await get(app, "/v1/status/shards/7", "10.0.0.7")).status_code == 403
        assert (await get(app, "/v1/status", "10.0.0.7")).status_code == 200


@pytest.mark.parametrize(
    "guarding",
    [
        {"relay_reads": True},
        {"relay_reads_of": GuardedPatterns("vault.*")},
        {"authorization": "metastore"},
    ],
)
async def test_where_reads_are_guarded_only_administrators_read_over_http(
    tmp_path: Path, guarding: dict[str, Any]
) -> None:
    plain = config(tmp_path)
    guarded = replace(plain, thrift=replace(plain.thrift, **guarding))
    async with application(guarded) as app:
        answer = await get(app, "/v1/databases?consistency=any", "10.0.0.7")
    assert answer.status_code == 403
    assert "thrift.relay_reads" in answer.json()["detail"]


async def test_without_thrift_nothing_is_told_of_it(tmp_path: Path) -> None:
    found, told = await served(config(tmp_path))
    assert found == described(told)
    assert described(TOLD) - found == {(one.path, one.method) for one in THRIFT}


@pytest.mark.parametrize("described_operation", OPERATIONS, ids=lambda one: one.id)
def test_each_example_has_the_form_that_is_told(described_operation: Any) -> None:
    operation = TOLD["paths"][described_operation.path][described_operation.method]
    contents = [operation["responses"]["200"]["content"]]
    contents += [operation["requestBody"]["content"]] if "requestBody" in operation else []
    for content in contents:
        media = content["application/json"]
        validator(closed(TOLD), media["schema"]).validate(media["example"])


def test_no_two_operations_have_one_id() -> None:
    ids = [one["operationId"] for path in TOLD["paths"].values() for one in path.values()]
    assert len(set(ids)) == len(ids)


def test_ids_are_verbs_and_nouns() -> None:
    ids = [one["operationId"] for path in TOLD["paths"].values() for one in path.values()]
    assert {re.split("(?=[A-Z])", id_)[0] for id_ in ids} == READING_VERBS | ORDERING_VERBS
    assert all(re.fullmatch("[a-z]+([A-Z][a-z]+)+", id_) for id_ in ids)
