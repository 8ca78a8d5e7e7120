"""Operators who have the workers' secret give orders to workers wherever these are."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
import structlog

from hive.errors import InputError, UnprovedError
from metatide.config import load
from metatide.members import worker_client
from metatide.operator_proof import OperatorProof, ProvedTransport, worker_address
from query_api.http.access import OPEN, Tokens
from query_api.http.admin import PATH
from query_api.http.forward import Forwarder
from query_api.http.proof import PROOF, PROVED
from query_api.peers import Peers, SecretFile
from state.records.signals import PauseOrder
from tests.metatide.ordered_worker import worker
from tests.support import local_http

PAUSE = f"{PATH}/pause"


def operator(folder: Path, secret: Path | None) -> httpx.Client:
    environ = {} if secret is None else {"METATIDE_WORKER_SECRET_FILE": str(secret)}
    return worker_client(load({"data_dir": str(folder)}, environ=environ).config, 10)


@pytest.mark.parametrize("tokens", [OPEN, Tokens({})])
def test_an_order_is_taken_for_the_secret(
    tmp_path: Path, workers_secret: Path, tokens: Tokens
) -> None:
    with (
        worker(workers_secret, tokens) as (url, connectors),
        operator(tmp_path, workers_secret) as client,
        structlog.testing.capture_logs() as logs,
    ):
        for _ in range(2):
            assert client.post(url + PAUSE, json={}).json() == {"orders": 1}
        assert [shard["shard"] for shard in client.get(url + PATH).json()] == [0]
        wrong = client.post(f"{url}{PATH}/drop", json={"tables": []})
    assert (wrong.status_code, wrong.json()["detail"]) == (400, "name 1 to 1000 tables, not 0")
    assert len(connectors.orders) == 2
    assert {line["who"] for line in logs} == {"operator"}


def test_others_are_refused(tmp_path: Path, workers_secret: Path) -> None:
    other = tmp_path / "other"
    other.write_text("6" * 64)
    with worker(workers_secret) as (url, connectors):
        with operator(tmp_path, None) as client:
            answer = client.post(url + PAUSE, json={})
        assert (answer.status_code, "only this machine" in answer.json()["detail"]) == (403, True)
        with operator(tmp_path, other) as client, pytest.raises(UnprovedError, match="status 403"):
            client.post(url + PAUSE, json={})
    assert connectors.orders == []


def test_an_order_counts_once_and_as_it_was_given(workers_secret: Path) -> None:
    def signed(url: str) -> tuple[dict[str, str], bytes]:
        with operator(workers_secret.parent, None) as client:
            order = client.build_request("POST", url, json={"above": 5})
        [request] = OperatorProof(workers_secret).auth_flow(order)
        return dict(request.headers), request.content

    with worker(workers_secret) as (url, connectors):
        headers, body = signed(url + PAUSE)
        local_http.post(url + PAUSE, headers=headers, content=body.replace(b"5", b"6"))
        assert connectors.orders == []
        headers, body = signed(url + PAUSE)
        statuses = [
            local_http.post(url + path, headers=headers, content=body).status_code
            for path in (f"{PATH}/resume", PAUSE, PAUSE)
        ]
    assert statuses == [403, 200, 403]
    assert connectors.orders == [PauseOrder(0, 5, paused=True)]


def test_what_a_worker_forwards_is_no_order(workers_secret: Path) -> None:
    async def forwarded(url: str) -> int | None:
        forwarder = Forwarder(None, Peers(SecretFile(workers_secret)))
        try:
            answer = await forwarder.ask(url, PAUSE, body=b"{}")
        finally:
            await forwarder.close()
        return None if answer is None else answer.status

    with worker(workers_secret, Tokens({}), "127.0.0.1") as (url, connectors):
        assert asyncio.run(forwarded(url)) == 403
    assert connectors.orders == []


def test_a_worker_that_proves_nothing_is_not_believed(tmp_path: Path, workers_secret: Path) -> None:
    with worker(None, host="127.0.0.1") as (url, _), operator(tmp_path, workers_secret) as client:
        address = url.removeprefix("http://")
        with pytest.raises(UnprovedError, match=rf"^{address} doesn't .* \(worker.secret_file\)"):
            client.post(url + PAUSE, json={})


def answered(secret: Path, response: httpx.Response) -> httpx.Response:
    """What is made of a response to a question that proves the secret."""

    def answer(request: httpx.Request) -> httpx.Response:
        assert PROOF.decode() in request.headers
        return response

    proof = OperatorProof(secret)
    transport = ProvedTransport(httpx.MockTransport(answer), proof)
    with httpx.Client(transport=transport, auth=proof) as client:
        return client.get("http://worker:1/")


def framed(content: bytes) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": PROVED.decode()}, content=content)


def test_an_answer_that_was_changed_is_none(workers_secret: Path) -> None:
    with pytest.raises(UnprovedError, match="of an answer"):
        answered(workers_secret, framed(b"x" * 99))


def test_an_answer_without_end_is_read_until_it_proves_nothing(workers_secret: Path) -> None:
    read = 0

    def blocks() -> Iterator[bytes]:
        nonlocal read
        while read < 1_000:
            read += 1
            yield b"\0" * 1024

    response = httpx.Response(200, headers={"content-type": PROVED.decode()}, content=blocks())
    with pytest.raises(UnprovedError, match="of an answer"):
        answered(workers_secret, response)
    assert read == 1


@pytest.mark.parametrize(
    ("response", "reason"),
    [(httpx.Response(500), "status 500"), (framed(b""), "cut off"), (framed(b"x"), "cut off")],
)
def test_a_worker_that_fails_while_it_answers_is_no_stranger(
    workers_secret: Path, response: httpx.Response, reason: str
) -> None:
    with pytest.raises(httpx.RemoteProtocolError, match=reason):
        answered(workers_secret, response)


def test_without_the_secret_an_operator_may_ask_what_everybody_may(tmp_path: Path) -> None:
    missing = tmp_path / "missing"
    with worker(None) as (url, _), operator(tmp_path, missing) as client:
        assert client.get(url, auth=None).status_code == 404
        with pytest.raises(InputError, match=f"^{missing} can't be read: "):
            client.get(url)


@pytest.mark.parametrize(
    ("url", "address"),
    [
        ("http://w1.example.com:8080/v1", "w1.example.com:8080"),
        ("https://[fd00::1]:8080", "[fd00::1]:8080"),
        ("https://w1", "w1:443"),
        ("http://w1:80", "w1:80"),
    ],
)
def test_an_address_is_as_the_worker_tells_it(url: str, address: str) -> None:
    assert worker_address(httpx.URL(url)) == address
