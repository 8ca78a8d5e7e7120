import asyncio
import time
from functools import partial

import httpx
import pytest
from starlette.applications import Starlette

from query_api.http import Check, create_status_app, health

Faults = dict[str, str | None]


@pytest.fixture
def faults() -> Faults:
    return {"first": None, "second": None}


@pytest.fixture
def app(faults: Faults, monkeypatch: pytest.MonkeyPatch) -> Starlette:
    monkeypatch.setattr(health, "FRESH_S", 0.0)
    return create_status_app([Check(name, partial(faults.get, name)) for name in faults])


def get(app: Starlette, *paths: str) -> list[httpx.Response]:
    async def ask() -> list[httpx.Response]:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://here") as client:
            return [await client.get(path) for path in paths]

    return asyncio.run(ask())


def test_it_is_ready_when_every_check_is_good(app: Starlette) -> None:
    [response] = get(app, "/readyz")
    assert response.status_code == 200
    assert response.json() == {
        "ready": True,
        "checks": [
            {"name": "first", "ok": True, "detail": "ok"},
            {"name": "second", "ok": True, "detail": "ok"},
        ],
    }


def test_one_fault_makes_it_unready_but_not_dead(app: Starlette, faults: Faults) -> None:
    faults["second"] = "it is gone"
    ready, alive = get(app, "/readyz", "/healthz")
    assert ready.status_code == 503
    assert ready.json()["checks"][1] == {"name": "second", "ok": False, "detail": "it is gone"}
    assert alive.status_code == 200


def test_the_page_is_shown_where_there_is_no_better_one(app: Starlette) -> None:
    [page] = get(app, "/")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert "/page/app.js" in page.text
    elsewhere = create_status_app([], lambda request: f"http://{request.url.hostname}:1/")
    [status] = get(elsewhere, "/")
    assert (status.status_code, status.headers["location"]) == (307, "http://here:1/")


def test_a_check_that_hangs_is_a_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(health, "CHECK_TIMEOUT_S", 0.05)
    [response] = get(create_status_app([Check("slow", lambda: time.sleep(0.5))]), "/readyz")
    assert response.status_code == 503
    assert response.json()["checks"][0]["detail"] == "no answer within 0.05 s"


def test_a_probe_that_asks_often_gets_what_was_found_just_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(health, "FRESH_S", 60.0)
    calls = []
    get(
        create_status_app([Check("counted", lambda: calls.append(1))]),
        "/readyz",
        "/readyz",
        "/readyz",
    )
    assert len(calls) == 1
