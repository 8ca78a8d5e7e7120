"""Strangers among the workers: they get no tokens, and nobody gets their answers."""

import asyncio
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from hive.errors import InputError
from metatide.cli.status import EXIT_STATUS
from processors.consumer.group import Group, Membership
from query_api import peers as peers_module
from query_api.http import Settings
from query_api.http.access import FileTokens
from query_api.latest.log_end import LogEnd
from query_api.peers import Peers, SecretFile
from state.topic import Topic, TopicClient
from tests.metatide.client.serving import serving, serving_app
from tests.query_api.http.read_client import EmptyDatabase, ask, grounds
from tests.query_api.http.two_workers import TABLES, elsewhere, two
from tests.query_api.http.warm_shards import ANY, DAYS, TABLE, warm
from tests.support import local_http
from tests.support.processes import open_folder
from tests.support.stacks import PATIENCE_S, stack

pytestmark = [pytest.mark.slow, pytest.mark.by_turns(2, of="hostile")]

TOKEN = {"authorization": "Bearer mine", "cookie": "session=1"}
MADE_UP = {
    "metatide-source": "cache",
    "metatide-reason": "fresh",
    "metatide-position": "0:999",
    "set-cookie": "a=b",
    "content-type": "application/json",
}


@pytest.fixture
def tokens(tmp_path: Path) -> FileTokens:
    path = tmp_path / "tokens"
    path.write_text(f"read {sha256(b'mine').hexdigest()}\n")
    return FileTokens(path)


def trusting(secret: Path, tokens: FileTokens) -> Settings:
    return Settings(tokens=tokens, peers=Peers(SecretFile(secret), needs_secret=True))


@contextmanager
def owner(secret: Path, tokens: FileTokens, shards: Any = None) -> Iterator[tuple[str, Peers]]:
    """A worker that has a shard, and who it takes for its peers."""
    settings = trusting(secret, tokens)
    with serving(shards or warm(), settings=settings) as url:
        settings.peers.address = url.partition("://")[2]
        yield url, settings.peers


class Stranger:
    """Takes itself for the owner of a shard, or stands between a worker and the owner."""

    def __init__(self, answer: Callable[[Request], Any]) -> None:
        self.requests: list[dict[str, str]] = []
        self._answer = answer

    @contextmanager
    def listening(self) -> Iterator[str]:
        async def answer(request: Request) -> Response:
            self.requests.append(dict(request.headers))
            given = self._answer(request)
            response: Response = await given if asyncio.iscoroutine(given) else given
            return response

        methods = ["GET", "POST"]
        with serving_app(Starlette(routes=[Route("/{all:path}", answer, methods=methods)])) as url:
            yield url


def makes_up(_: Request) -> Response:
    return Response(b'{"tableName": "made up"}', headers=MADE_UP)


def unproved(settings: Settings) -> float | None:
    registry = settings.peers.metrics.registry
    return registry.get_sample_value("metatide_unproved_answers_total", {"protocol": "http"})


def test_a_peer_is_asked_by_proof_and_not_by_the_clients_token(
    workers_secret: Path, tokens: FileTokens
) -> None:
    async def asking(client: httpx.AsyncClient) -> None:
        for headers in ({}, {"accept-encoding": "gzip"}, {"accept": "application/x-ndjson"}):
            answer = await client.get(f"{TABLE}/partitions?{ANY}", headers=headers | TOKEN)
            assert (answer.status_code, *grounds(answer)) == (200, "cache", "fresh")
            assert answer.text.count("lastAccessTime") == len(DAYS)
        names = await client.get(f"{TABLE}/partition-names?{ANY}", headers=TOKEN)
        again = {"if-none-match": names.headers["etag"], **TOKEN}
        assert (await client.get(str(names.url), headers=again)).status_code == 304
        missing = await client.get(f"{TABLE}/partitions/ds=never?{ANY}", headers=TOKEN)
        assert (missing.status_code, *grounds(missing)) == (404, "cache", "fresh")
        filtered = {"filter": "ds = 'x'"}
        posted = await client.post(f"{TABLE}/partition-count?{ANY}", json=filtered, headers=TOKEN)
        assert posted.json() == {"count": 0}
        tables = {"tables": ["sales.orders"]}
        answer = await client.post("/v1/cache-states", json=tables, headers=TOKEN)
        assert answer.json()["tables"][0]["warm"] is True
        overview = (await client.get("/v1/overview", headers=TOKEN)).json()
        assert [worker["fault"] for worker in overview["workers"]] == [None, None]

    with owner(workers_secret, tokens) as (url, _):
        ask(elsewhere(url), asking, settings=trusting(workers_secret, tokens))


def test_what_several_peers_hold_is_put_together(workers_secret: Path, tokens: FileTokens) -> None:
    first, other = two()
    names = [name.in_catalog for name in TABLES]

    async def asking(client: httpx.AsyncClient) -> None:
        tables = await client.post(f"/v1/tables?{ANY}", json={"names": names}, headers=TOKEN)
        assert grounds(tables) == ("cache", "fresh")
        assert len(tables.json()["tables"]) == len(names)

    with owner(workers_secret, tokens, other) as (url, _):
        first.urls[1] = url
        ask(first, asking, settings=trusting(workers_secret, tokens))


def test_a_stranger_is_not_heard_and_not_asked_again(
    workers_secret: Path, tokens: FileTokens
) -> None:
    stranger, settings = Stranger(makes_up), trusting(workers_secret, tokens)

    async def asking(client: httpx.AsyncClient) -> None:
        for _ in range(5):
            answer = await client.get(f"{TABLE}?{ANY}", headers=TOKEN)
            assert grounds(answer) == ("database", "not_owned")
            assert "set-cookie" not in answer.headers
            tables = {"tables": ["sales.orders"]}
            answer = await client.post("/v1/cache-states", json=tables, headers=TOKEN)
            assert answer.json()["tables"][0]["reason"] == "not_owned"

    with stranger.listening() as url:
        database = EmptyDatabase(LogEnd(0, 4, []))
        ask(elsewhere(url), asking, database=database, settings=settings)
    [headers] = stranger.requests
    assert not headers.keys() & {"authorization", "cookie"}
    assert unproved(settings) == 1


def test_a_stranger_is_asked_again_after_a_while(
    workers_secret: Path, tokens: FileTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers_module, "DISTRUSTED_S", 0)
    stranger = Stranger(makes_up)

    async def asking(client: httpx.AsyncClient) -> None:
        for _ in range(3):
            await client.get(f"{TABLE}?{ANY}", headers=TOKEN)

    with stranger.listening() as url:
        ask(elsewhere(url), asking, settings=trusting(workers_secret, tokens))
    assert len(stranger.requests) == 3


def test_where_there_are_tokens_but_no_secret_nobody_is_asked(tokens: FileTokens) -> None:
    stranger = Stranger(makes_up)

    async def asking(client: httpx.AsyncClient) -> None:
        answer = await client.get(f"{TABLE}?{ANY}", headers=TOKEN)
        assert grounds(answer) == ("database", "not_owned")

    with stranger.listening() as url:
        database = EmptyDatabase(LogEnd(0, 4, []))
        settings = Settings(tokens=tokens, peers=Peers(needs_secret=True))
        ask(elsewhere(url), asking, database=database, settings=settings)
    assert stranger.requests == []


def test_where_there_is_nothing_secret_only_what_is_known_passes() -> None:
    stranger = Stranger(makes_up)

    async def asking(client: httpx.AsyncClient) -> None:
        headers = TOKEN | {"x-internal": "1", "if-none-match": '"x"'}
        answer = await client.get(f"{TABLE}?{ANY}", headers=headers)
        assert answer.json() == {"tableName": "made up"}
        assert "set-cookie" not in answer.headers

    with stranger.listening() as url:
        ask(elsewhere(url), asking)
    [headers] = stranger.requests
    assert not headers.keys() & {"authorization", "cookie", "x-internal"}
    assert headers["if-none-match"] == '"x"'


def refuses(_: Request) -> Response:
    return Response(b"{}", 401, headers={"www-authenticate": "Bearer"})


def test_what_an_owner_refuses_is_for_the_database() -> None:
    async def asking(client: httpx.AsyncClient) -> None:
        assert grounds(await client.get(f"{TABLE}?{ANY}")) == ("database", "not_owned")

    with Stranger(refuses).listening() as url:
        ask(elsewhere(url), asking, database=EmptyDatabase(LogEnd(0, 4, [])))


Change = Callable[[bytes, list[bytes]], bytes]
CHANGES: dict[str, Change] = {
    "another byte": lambda body, _: body.replace(b"orders", b"0rders"),
    "an end before the end": lambda body, _: body[:-5],
    "bytes beyond the end of the head": lambda body, _: body[:40],
    "the answer to an earlier question": lambda _, before: before[0],
    "nothing": lambda _, __: b"",
}


@pytest.mark.parametrize("change", CHANGES)
def test_what_was_changed_between_peers_is_not_passed_on(
    change: str, workers_secret: Path, tokens: FileTokens
) -> None:
    before: list[bytes] = []
    changes = False

    async def passes_on(request: Request) -> Response:
        async with httpx.AsyncClient() as client:
            url = httpx.URL(at).copy_with(raw_path=request.url.path.encode() + b"?" + ANY.encode())
            answer = await client.get(url, headers=dict(request.headers))
        before.append(answer.content)
        body = CHANGES[change](answer.content, before) if changes else answer.content
        return Response(body, headers={"content-type": answer.headers["content-type"]})

    async def asking(client: httpx.AsyncClient) -> None:
        nonlocal changes
        first = await client.get(f"{TABLE}?{ANY}", headers=TOKEN)
        assert grounds(first) == ("cache", "fresh")
        changes = True
        try:
            second = await client.get(f"{TABLE}?{ANY}", headers=TOKEN)
        except ConnectionAbortedError:
            # The beginning was proved and passed on; then the connection ended.
            return
        assert grounds(second) == ("database", "not_owned")

    database = EmptyDatabase(LogEnd(0, 4, []))
    settings = trusting(workers_secret, tokens)
    with owner(workers_secret, tokens) as (at, its), Stranger(passes_on).listening() as between:
        its.address = between.partition("://")[2]
        ask(elsewhere(between), asking, database=database, settings=settings)
    assert unproved(settings) == 1


def test_a_question_is_for_one_peer_and_for_a_while(
    workers_secret: Path, tokens: FileTokens, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What a stranger was asked gets it nothing from others, and nothing later."""
    stranger = Stranger(makes_up)

    async def asking(client: httpx.AsyncClient) -> None:
        await client.get(f"{TABLE}?{ANY}", headers=TOKEN)

    with stranger.listening() as address:
        ask(elsewhere(address), asking, settings=trusting(workers_secret, tokens))
    [headers] = stranger.requests
    with owner(workers_secret, tokens) as (url, its):
        path = f"{url}{TABLE}?{ANY}"
        assert local_http.get(path, headers=headers).status_code == 403
        its.address = address.partition("://")[2]
        assert local_http.get(path, headers=headers).status_code == 200
        other = f"{url}{TABLE}/partitions?{ANY}"
        assert local_http.get(other, headers=headers).status_code == 403
        assert local_http.get(path, headers=headers | {"if-none-match": "*"}).status_code == 403
        code = headers["metatide-proof"]
        assert local_http.get(path, headers=headers | {"metatide-proof": "x"}).status_code == 403
        assert (
            local_http.get(path, headers=headers | {"metatide-proof": f"{code}0"}).status_code
            == 403
        )
        monkeypatch.setattr(peers_module, "CLOCKS_DIFFER_S_MAX", -1)
        assert local_http.get(path, headers=headers).status_code == 403
        # Without a proof, a token is needed as always.
        assert local_http.get(path, headers={"metatide-forwarded": "1"}).status_code == 401


def test_a_body_is_the_one_that_was_proved(workers_secret: Path, tokens: FileTokens) -> None:
    bodies: list[bytes] = []

    async def keeps(request: Request) -> Response:
        bodies.append(await request.body())
        return makes_up(request)

    async def asking(client: httpx.AsyncClient) -> None:
        body = {"names": ["ds=2026-01-05"]}
        await client.post(f"{TABLE}/partition-count?{ANY}", json=body, headers=TOKEN)

    stranger = Stranger(keeps)
    with stranger.listening() as address:
        ask(elsewhere(address), asking, settings=trusting(workers_secret, tokens))
    [headers], [body] = stranger.requests, bodies
    with owner(workers_secret, tokens) as (url, its):
        its.address = address.partition("://")[2]
        path = f"{url}{TABLE}/partition-count?{ANY}"
        assert b'"count":1' in local_http.post(path, headers=headers, content=body).content
        other = local_http.post(path, headers=headers, content=body.replace(b"05", b"06"))
        assert b"isn't the one that was proved" in other.content
        assert b'"count"' not in other.content


def test_the_secret_is_read_again_when_its_file_changes(
    workers_secret: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("query_api.watched_file.LOOK_EVERY_S", 0)
    mine, its = (
        Peers(SecretFile(workers_secret), "here:1"),
        Peers(SecretFile(workers_secret), "there:1"),
    )

    def is_believed() -> bool:
        question = mine.question("there:1", [b"x"])
        assert question is not None
        return its.is_asked(question, its.address, [b"x"])

    assert is_believed()
    other = workers_secret.with_name("other")
    other.write_text("6" * 64)
    its = Peers(SecretFile(other), "there:1")
    assert not is_believed()
    workers_secret.write_text("6" * 64 + "\n")
    assert is_believed()
    workers_secret.write_text("short")
    assert is_believed()


@pytest.mark.parametrize("text", ["", "short", "x" * 31, "x" * 5000])
def test_what_is_no_secret_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "secret"
    path.write_text(text)
    with pytest.raises(InputError, match="openssl rand -hex 32"):
        SecretFile(path)


def test_a_stranger_in_the_group_gets_no_tokens_and_answers_nobody(
    kafka_broker: str, tokens: FileTokens, tmp_path: Path
) -> None:
    """A stack whose worker shares the shards with a stranger, over a real broker."""
    stranger, name = Stranger(makes_up), "hostile-peers"
    environment = {
        "METATIDE_KAFKA_TOPIC": name,
        "METATIDE_READS_TOKENS_PATH": str(tmp_path / "tokens"),
    }
    with (
        open_folder() as parent,
        stack(parent / "data", "--kafka", kafka_broker, **environment) as up,
        stranger.listening() as url,
    ):
        assert (up.folder / "workers-secret").stat().st_mode & 0o777 == 0o600
        worker = up.until_live("worker-1")
        topic = TopicClient(kafka_broker, name).describe()
        membership = Membership(name, "stranger", url.partition("://")[2], 10, parent)
        asyncio.run(_among_peers(topic, membership, worker, stranger))
        page = local_http.get(f"{worker}/metrics").text
    assert not stranger.requests[0].keys() & {"authorization", "cookie"}
    assert 'metatide_unproved_answers_total{protocol="http"} 1.0' in page


async def _among_peers(
    topic: Topic, membership: Membership, worker: str, stranger: Stranger
) -> None:
    """Reads from all shards until the stranger was asked, and once more."""
    shards: frozenset[int] = frozenset()

    def assigned(numbers: frozenset[int]) -> None:
        nonlocal shards
        shards = numbers

    group = Group(
        topic, membership, offer=lambda *_: None, assigned=assigned, unsettled=lambda: None
    )
    joined = asyncio.create_task(group.run())
    deadline = time.monotonic() + PATIENCE_S
    try:
        async with httpx.AsyncClient(base_url=worker, headers=TOKEN, timeout=30) as client:
            rounds = 0
            while rounds < 2:
                assert time.monotonic() < deadline, f"the stranger holds {sorted(shards)}"
                rounds += bool(stranger.requests)
                for number in range(3 * topic.shards):
                    answer = await client.get(f"/v1/databases/d/tables/t{number}")
                    assert (answer.status_code, "set-cookie" in answer.headers) == (404, False)
                await asyncio.sleep(0.2)
        assert len(stranger.requests) == 1
        own = {"METATIDE_KAFKA_TOPIC": topic.name, "METATIDE_CLIENT_TOKEN": "mine"}
        # There is no connector, which is said sooner or later.
        for command, statuses in (("status", EXIT_STATUS.values()), ("admin show", (2,))):
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "metatide", *command.split()),
                *("--kafka", topic.servers, "--data-dir", str(membership.folder / "data")),
                env={**os.environ, **own},
                stderr=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
            )
            _, said = await process.communicate()
            assert process.returncode in statuses, said
        assert b"isn't sent client.token" in said
        assert len(stranger.requests) > 1
        assert not any("authorization" in headers for headers in stranger.requests)
    finally:
        joined.cancel()
        await asyncio.gather(joined, return_exceptions=True)
