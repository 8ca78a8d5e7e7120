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
    "asks_waiting": 0,
    "shards": [SHARD],
}


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
