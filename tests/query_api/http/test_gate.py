"""Who may give orders, and what becomes of them."""

import asyncio
import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog
from starlette.applications import Starlette

from query_api.http import admin
from query_api.http.access import OPEN, FileTokens, Tokens
from query_api.http.admin import ORDERS as OPERATIONS
from query_api.http.admin import PATH, Administration
from query_api.http.gate import Gate
from query_api.http.routes import routes_of
from query_api.shards import Views
from state.records import Pause, Scope, ScopeKind, SetLists
from state.records.numbers import NATURAL_MAX
from state.records.signals import (
    AnySignal,
    LoadRequest,
    NewEpochOrder,
    PauseOrder,
    ResetTableOrder,
    SetListsOrder,
    SkipOrder,
)
from tests.query_api.http.connectors import Connectors
from tests.query_api.shards import ORDERS, MemoryShard, MemoryShards


def send(
    connectors: Connectors,
    what: str,
    body: object = None,
    *,
    shards: MemoryShards | None = None,
    tokens: Tokens = OPEN,
    client: str = "127.0.0.1",
    base_url: str = "http://localhost:8000",
    headers: dict[str, str] | None = None,
) -> httpx.Response:
    views = Views(shards or MemoryShards(MemoryShard()))

    async def run() -> httpx.Response:
        administration = Administration(views, connectors)
        app = Starlette(routes=routes_of(OPERATIONS, administration, Gate(tokens)))
        transport = httpx.ASGITransport(app, client=(client, 4711))
        async with httpx.AsyncClient(transport=transport, base_url=base_url) as http:
            if what == "show":
                return await http.get(PATH, headers=headers)
            all_headers = {"content-type": "application/json", **(headers or {})}
            content = json.dumps({} if body is None else body)
            return await http.post(f"{PATH}/{what}", content=content, headers=all_headers)

    return asyncio.run(run())


TABLES = {"tables": ["sales.orders"]}
CASES: list[tuple[str, Any, AnySignal]] = [
    ("warm", TABLES, LoadRequest(0, Scope(ScopeKind.TABLE, ORDERS), 0)),
    ("refresh", TABLES, ResetTableOrder(0, ORDERS, load=True)),
    ("drop", TABLES, ResetTableOrder(0, ORDERS, load=False)),
    ("pause", {}, PauseOrder(0, 7, paused=True)),
    ("resume", {}, PauseOrder(0, 7, paused=False)),
    ("resume", {"above": NATURAL_MAX}, PauseOrder(0, NATURAL_MAX, paused=False)),
    ("reset", {}, NewEpochOrder(0)),
    ("reset", {"above": 4}, NewEpochOrder(4)),
    ("skip", {"shard": 1, "offset": 9}, SkipOrder(0, 1, 9, 9)),
    ("skip", {"shard": 0, "offset": 9, "last": 12}, SkipOrder(0, 0, 9, 12)),
    ("lists", {"whitelist": ["sales.*"]}, SetListsOrder(0, 3, ("sales.*",), ())),
    ("lists", {"above": 2}, SetListsOrder(0, 3, (), ())),
    ("lists", {"above": 9}, SetListsOrder(0, 9, (), ())),
]


@pytest.mark.parametrize(("what", "body", "order"), CASES)
def test_each_order_goes_to_the_connectors_and_into_the_log(
    what: str, body: object, order: AnySignal
) -> None:
    shards = MemoryShards(MemoryShard(Pause(0, 7, paused=False), SetLists(0, 3, (), ())), None)
    connectors = Connectors()
    with structlog.testing.capture_logs() as logs:
        answer = send(connectors, what, body, shards=shards)
    assert (answer.status_code, answer.json()) == (200, {"orders": 1})
    assert connectors.orders == [order]
    [line] = [one for one in logs if one["event"] == "administration"]
    assert (line["who"], line["address"], line["what"]) == ("local", "127.0.0.1", what)


def test_what_shards_have_heard_of_is_shown() -> None:
    heard = MemoryShard(Pause(0, 1, paused=True), SetLists(0, 1, (), ("tmp.*",)))
    answer = send(Connectors(), "show", shards=MemoryShards(None, heard))
    assert answer.json() == [
        {
            "shard": 1,
            "paused": True,
            "whitelist": [],
            "blacklist": ["tmp.*"],
            "pause_version": 1,
            "lists_version": 1,
            "epoch": 0,
        }
    ]


@pytest.mark.parametrize(
    ("what", "body"),
    [
        ("warm", {"tables": []}),
        ("warm", {"tables": ["nodatabase"]}),
        ("refresh", {}),
        ("pause", {"tables": ["a.b"]}),
        ("pause", {"above": NATURAL_MAX + 1}),
        ("pause", {"above": -1}),
        ("lists", {"whitelist": ["nodot"]}),
        ("lists", {"blacklist": [7]}),
        ("lists", {"blacklist": ["a.b"] * (admin.PATTERNS_MAX + 1)}),
        ("drop", []),
        ("skip", {"shard": 1}),
        ("skip", {"shard": 1 << 20, "offset": 0}),
        ("skip", {"shard": 0, "offset": 9, "last": 8}),
    ],
)
def test_what_makes_no_sense_is_refused(what: str, body: object) -> None:
    connectors = Connectors()
    answer = send(connectors, what, body)
    assert answer.status_code == 400, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    assert connectors.orders == []


@pytest.mark.parametrize(("what", "status"), [("warm", 400), ("refresh", 400), ("drop", 200)])
def test_what_the_lists_leave_out_is_not_loaded(what: str, status: int) -> None:
    shards = MemoryShards(MemoryShard(SetLists(0, 1, (), ("sales.*",))))
    connectors = Connectors()
    answer = send(connectors, what, TABLES, shards=shards)
    assert answer.status_code == status, answer.text
    assert len(connectors.orders) == (status == 200)


@pytest.mark.parametrize(
    ("client", "base_url", "headers"),
    [
        ("10.1.2.3", "http://localhost", {}),
        ("127.0.0.1", "http://evil.example", {}),
        ("127.0.0.1", "http://localhost", {"content-type": "text/plain"}),
        ("127.0.0.1", "http://localhost", {"host": ""}),
        ("127.0.0.1", "http://localhost", {"host": "[::1"}),
        ("127.0.0.1", "http://localhost", {"host": "evil.example:x@localhost"}),
        ("127.0.0.1", "http://localhost", {"Forwarded": "for=10.1.2.3"}),
        ("127.0.0.1", "http://localhost", {"Via": "1.1 gateway"}),
        ("127.0.0.1", "http://localhost", {"X-Forwarded-For": "127.0.0.1"}),
        ("127.0.0.6", "http://localhost", {"X-Forwarded-Proto": "http"}),
        ("127.0.0.1", "http://127.0.0.1", {"X-Forwarded-Host": "metatide.example.com"}),
    ],
)
def test_without_tokens_only_this_machine_is_heard(
    client: str, base_url: str, headers: dict[str, str]
) -> None:
    connectors = Connectors()
    answer = send(connectors, "pause", client=client, base_url=base_url, headers=headers)
    assert answer.status_code == 403
    assert connectors.orders == []


@pytest.mark.parametrize("address", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
def test_this_machine_has_several_addresses(address: str) -> None:
    assert send(Connectors(), "pause", client=address).status_code == 200


def test_with_tokens_administrators_are_heard_from_anywhere(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    lines = (("admin", "ann's", " ann"), ("read", "bob's", " bob"), ("admin", "nameless", ""))
    path.write_text(
        "".join(f"{role} {sha256(t.encode()).hexdigest()}{name}\n" for role, t, name in lines)
    )
    tokens = FileTokens(path)
    statuses: dict[str, tuple[int, list[str]]] = {}
    for token in ("ann's", "bob's", "nameless", "unknown"):
        headers = {"authorization": f"Bearer {token}"}
        with structlog.testing.capture_logs() as logs:
            answer = send(Connectors(), "pause", tokens=tokens, client="10.1.2.3", headers=headers)
        statuses[token] = (answer.status_code, [one["who"] for one in logs])
    assert statuses == {
        "ann's": (200, ["ann"]),
        "bob's": (403, []),
        "nameless": (200, [sha256(b"nameless").hexdigest()[:8]]),
        "unknown": (403, []),
    }
    assert send(Connectors(), "pause", tokens=tokens).status_code == 403


def test_tokens_are_read_again_when_their_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("query_api.watched_file.LOOK_EVERY_S", 0)
    file = tmp_path / "tokens"

    def write(*texts: str) -> None:
        file.write_text("".join(f"read {sha256(text.encode()).hexdigest()}\n" for text in texts))

    def let_in() -> list[str]:
        return [text for text in ("old", "new") if tokens.holder_of(f"Bearer {text}".encode())[0]]

    write("old")
    tokens = FileTokens(file)
    assert let_in() == ["old"]
    write("old", "new")
    assert let_in() == ["old", "new"]
    with structlog.testing.capture_logs() as logs:
        file.write_text("a fault")
        assert let_in() == ["old", "new"]
        file.unlink()
        assert let_in() == ["old", "new"]
    assert ["line 1: write read or admin" in entry["why"] for entry in logs] == [True, False]
    replacement = file.with_suffix(".new")
    replacement.write_text(f"admin {sha256(b'new').hexdigest()}\n")
    replacement.replace(file)
    assert let_in() == ["new"]


def test_an_order_that_kafka_does_not_take_fails() -> None:
    answer = send(Connectors(away=True), "pause")
    assert (answer.status_code, answer.json()["detail"]) == (500, "the topic is away")


def test_an_order_that_kafka_takes_too_long_for_may_still_come(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Slow(Connectors):
        async def order(self, signal: AnySignal) -> None:
            await asyncio.Event().wait()

    monkeypatch.setattr(admin, "SENT_S_MAX", 0.01)
    answer = send(Slow(), "pause")
    assert answer.status_code == 500
    assert "may still be carried out" in answer.json()["detail"]
