"""What `metatide status` shows of a member that proves nothing."""

from pathlib import Path
from typing import Any

import orjson
import pytest
from click.testing import CliRunner
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse
from starlette.routing import Route

from metatide.cli import root, status
from metatide.health import ConnectorHealth, Health, Level, Thresholds
from metatide.process.consoles import PlainConsole
from tests.metatide.client.serving import serving_app

SHARD = {
    "shard": 3,
    "phase": "live",
    "epoch": 0,
    "event_id": 7,
    "lag_records": 0,
    "lag_ms": 0,
    "image_age_s": None,
    "fault": None,
}
MEMBER = {
    "name": "w",
    "address": "w:1",
    "ready": True,
    "disk_bytes": 0,
    "memory_bytes": 0,
    "load_requests_waiting": 0,
    "shards": [SHARD],
}


def health(problems: list[str], event: int | None) -> Health:
    connector = ConnectorHealth(
        name="connector-1",
        host="meta-1",
        address="meta-1:8080",
        level=Level.GREEN,
        silent_s=0,
        quiet_s=0.42,
        epoch=0,
        position=7,
        sequence=7,
        loads_waiting=2,
        leads=16,
        partitions=16,
        fault=None,
    )
    return Health(Level.GREEN, problems, event, 0, 0, Thresholds(), [connector])


@pytest.mark.parametrize(
    ("problems", "event", "lines"),
    [
        ([], 7, ["all is well at event 7"]),
        ([], None, []),
        (["it is late", "a fault"], 7, ["it is late", "a fault"]),
    ],
)
def test_people_see_problems_before_connectors(
    problems: list[str],
    event: int | None,
    lines: list[str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    status._show_health(PlainConsole(width=500), health(problems, event))
    *shown, heads, connector = capsys.readouterr().out.splitlines()
    assert shown == lines
    assert heads.split()[:4] == ["connector", "machine", "address", "position"]
    cells = ["connector-1", "meta-1", "meta-1:8080", "0:7", "0.4", "16", "of", "16", "2"]
    assert connector.split() == cells


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        (JSONResponse({"detail": "no"}, 500), "500 Internal Server Error"),
        (JSONResponse({**MEMBER, "shards": [{}]}), "it answers something else: Object missing"),
        (JSONResponse({"name": "w", "ready": True, "shards": []}), "it answers something else: "),
        (JSONResponse({**MEMBER, "ready": False}), None),
    ],
)
def test_a_member_that_is_not_ready_or_no_worker_is_a_problem(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    answer: JSONResponse,
    says: str | None,
) -> None:
    async def status_of(_: Request) -> JSONResponse:
        return answer

    monkeypatch.setattr(status, "events_topic", lambda _: None)
    monkeypatch.setattr(status, "hear_once", lambda _: [])
    with serving_app(Starlette(routes=[Route("/v1/status", status_of)])) as url:
        monkeypatch.setattr(status, "members", lambda *_: [("w", url.removeprefix("http://"))])
        done = CliRunner().invoke(root, ["status", "--data-dir", str(tmp_path)])
    report: dict[str, Any] = orjson.loads(done.stdout)
    [worker] = report["workers"]
    assert (says or "") in worker.get("unreachable", "")
    why = "isn't ready" if says is None else "doesn't answer"
    assert f"w {why}" in report["health"]["problems"]
    status._show(PlainConsole(width=500), worker)
    assert ("not ready" if says is None else why) in capsys.readouterr().out


def test_a_member_whose_content_is_not_proved_keeps_its_status(
    tmp_path: Path,
    workers_secret: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    async def answer(_: Request) -> JSONResponse:
        return JSONResponse(MEMBER)

    monkeypatch.setenv("METATIDE_WORKER_SECRET_FILE", str(workers_secret))
    monkeypatch.setattr(status, "events_topic", lambda _: None)
    monkeypatch.setattr(status, "hear_once", lambda _: [])
    with serving_app(Starlette(routes=[Route("/{all:path}", answer)])) as url:
        monkeypatch.setattr(status, "members", lambda *_: [("w", url.removeprefix("http://"))])
        done = CliRunner().invoke(root, ["status", "--content", "--data-dir", str(tmp_path)])
    report: dict[str, Any] = orjson.loads(done.stdout)
    assert "w doesn't answer" not in report["health"]["problems"]
    [worker] = report["workers"]
    assert "doesn't prove that it is a worker" in worker["content_unknown"]
    assert worker == {**MEMBER, "content_unknown": worker["content_unknown"]}
    status._show(PlainConsole(width=500), worker)
    assert f"its content is unknown: {worker['content_unknown']}" in capsys.readouterr().out
