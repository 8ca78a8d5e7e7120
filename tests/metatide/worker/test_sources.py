"""What servers ask of shards that are here, elsewhere or nowhere; without brokers."""

from types import SimpleNamespace
from typing import Any

import pytest
from structlog.testing import capture_logs

from metatide.worker import thrift_owners
from metatide.worker.image_server import _Source
from metatide.worker.shards import WorkerShards
from metatide.worker.thrift_owners import PORT_PATH, ThriftOwners
from query_api.http.forward import WholeAnswer
from state.records import Scope, ScopeKind
from tests.query_api.shards import ORDERS

SCOPE = Scope(ScopeKind.TABLE, ORDERS)
COUNT = 4


class LoadRequests:
    """Takes note of loads that are asked for."""

    def __init__(self) -> None:
        self.loads: list[tuple[int, object]] = []

    def ask_for_reader(self, shard: int, request: Any) -> None:
        self.loads.append((shard, (request.epoch, request.scope, request.floor)))

    def ask(self, shard: int, scope: Scope, floor: int) -> None:
        self.loads.append((shard, (scope, floor)))


@pytest.mark.parametrize(("shard", "loads"), [(2, [(2, (7, SCOPE, 9))]), (3, [])])
def test_an_image_asks_for_loads_in_its_own_epoch(shard: int, loads: list[object]) -> None:
    requests: Any = LoadRequests()
    imaged: Any = SimpleNamespace(
        topic=SimpleNamespace(shards=COUNT),
        shards={2: SimpleNamespace(position=SimpleNamespace(epoch=7))},
    )
    watch: Any = SimpleNamespace(epoch=8)
    source = _Source(imaged, requests, watch)
    source.ask_for_load(shard, SCOPE, 9)
    assert requests.loads == loads
    assert (source.count, source.epoch, source.owner_url(2)) == (COUNT, 8, None)


def test_a_worker_asks_for_the_shard_that_lacks_something() -> None:
    requests = LoadRequests()
    worker: Any = SimpleNamespace(ask=requests.ask)
    WorkerShards(worker).ask_for_load(2, SCOPE, 9)
    assert requests.loads == [(2, (SCOPE, 9))]


class Owners:
    """Shards of other workers, and these, which give one answer after the other."""

    def __init__(self, *answers: WholeAnswer | None) -> None:
        self._answers = [*answers]

    def owner_url(self, shard: int) -> str | None:
        return None if shard == 0 else f"http://w{shard}:8080"

    async def ask(self, url: str, path: str) -> WholeAnswer | None:
        assert path == PORT_PATH
        return self._answers.pop(0)


def answer(status: int, content: bytes) -> WholeAnswer:
    return WholeAnswer(status, {}, content)


async def test_the_port_of_another_worker_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    owners: Any = Owners(answer(200, b'{"port": 9083}'))
    addresses = ThriftOwners(owners, owners)
    assert await addresses.of(0) is None
    assert [addresses.known(0), addresses.known(1)] == [None, None]
    for _ in range(2):
        assert await addresses.of(1) == ("w1", 9083)
        assert [addresses.known(0), addresses.known(1)] == [None, ("w1", 9083)]
    monkeypatch.setattr(thrift_owners, "KNOWN_S", 0.0)
    late = ThriftOwners(owners, Owners(answer(200, b'{"port": 9083}')))  # type: ignore[arg-type]
    assert await late.of(1) == ("w1", 9083)
    assert late.known(1) is None, "it is to be asked again"


@pytest.mark.parametrize(
    ("told", "lines"),
    [
        (None, 0),
        (answer(503, b"{}"), 0),
        (answer(200, b"<html>"), 1),
        (answer(200, b"\xff"), 1),
        (answer(200, b'{"port": 65536}'), 1),
    ],
)
async def test_an_owner_that_tells_no_port_is_not_called(
    told: WholeAnswer | None, lines: int
) -> None:
    owners: Any = Owners(told)
    with capture_logs() as logged:
        assert await ThriftOwners(owners, owners).of(1) is None
    assert len(logged) == lines
    assert all(line["url"] == "http://w1:8080" for line in logged)
