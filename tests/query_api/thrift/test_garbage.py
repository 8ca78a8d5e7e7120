"""What is left of a connection that has ended, as long as no garbage is collected."""

import asyncio
import gc
import ssl
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any, Final, NamedTuple

import pytest

from query_api.thrift import server
from query_api.thrift.accepted import AcceptedBinary, AcceptedHttp
from query_api.thrift.call import Call, CallAnswer
from query_api.thrift.sasl.mechanism import Accepted
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.http_transport.clients import HttpRunning, post, serving_http
from tests.query_api.thrift.sasl.clients import log_in
from tests.query_api.thrift.serving import Client, Metastore, answer, until
from tests.query_api.thrift.structs import message
from tests.support.logins.certificates import Authority
from tests.support.spans import Spans

CALLS: Final[Mapping[str, str]] = {
    "an answer": "get_table",
    "a long answer": "get_all",
    "a wait": "get_slow",
    "a relayed call": "create_table",
}


class Held:
    """Stands for RocksDB's snapshot and iterators."""


def chunks() -> Iterator[bytes]:
    held = Held()
    while True:
        yield b"x" * 65536
        assert held is not None


async def waits(_: Call) -> CallAnswer:
    held = Held()
    await asyncio.Event().wait()
    return answer(str(held))


class Silent(Metastore):
    """Answers nothing."""

    def _reply(self, *_: Any) -> bool:
        return True


class Everybody:
    """A mechanism of SASL that lets in all clients, and its exchange."""

    def begin(self) -> "Everybody":
        return self

    async def answer(self, _: bytes) -> Accepted:
        return Accepted("ann")


def alive() -> Counter[str]:
    """The objects of connections, by class."""
    kinds = [type(each) for each in gc.get_objects()]
    return Counter(
        kind.__qualname__
        for kind in kinds
        if kind is Held or str(kind.__module__).startswith("query_api.thrift.")
    )


class Tls(NamedTuple):
    serves: ssl.SSLContext
    trusts: ssl.SSLContext


@pytest.fixture(scope="module")
def tls(tmp_path_factory: pytest.TempPathFactory) -> Tls:
    authority = Authority(tmp_path_factory.mktemp("tls") / "authority")
    serves = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    serves.load_cert_chain(*authority.sign("here"))
    return Tls(serves, ssl.create_default_context(cafile=str(authority.certificate)))


@pytest.fixture
def _no_collection() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


async def connect(here: HttpRunning, transport: str, tls: Tls) -> Client:
    if transport == "http":
        over_http = await here.connect()
        return Client(over_http.reader, over_http.writer)
    options: dict[str, Any] = {"ssl": tls.trusts} if transport == "tls" else {}
    client = await here.running.connect(**options)
    if transport == "sasl":
        await log_in(client, "ann", "")
    return client


async def leave_in(here: HttpRunning, client: Client, transport: str, what: str) -> None:
    """Has the client leave in the middle of something."""
    metastore = here.running.metastores[0]
    metastore.calls.clear()
    data = message(CALLS[what], b"\0")
    if transport == "http":
        client.writer.write(post(data))
    else:
        client.send(data)
    if what == "a relayed call":
        await until(lambda: bool(metastore.calls))
    elif what == "a wait":
        await until(lambda: bool(here.running.methods.calls))
    else:
        await client.reader.read(1000)
    await client.close()
    here.clients.clear()
    here.running.clients.clear()
    here.running.methods.calls.clear()
    await until(lambda: not (here.running.server._connections or metastore._writers))
    await asyncio.sleep(0.01)


@pytest.fixture
def _often_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each connection is checked while it is there."""
    monkeypatch.setattr(server, "CHECK_EVERY_S", 0.001)


@pytest.mark.usefixtures("_no_collection", "_often_checked")
@pytest.mark.parametrize("what", CALLS)
@pytest.mark.parametrize("transport", ["plain", "traced", "tls", "sasl", "http"])
async def test_nothing_of_a_connection_outlasts_it(transport: str, what: str, tls: Tls) -> None:
    settings = ThriftSettings(
        tls=tls.serves if transport == "tls" else None,
        mechanisms={"PLAIN": Everybody()} if transport == "sasl" else {},
    )
    methods: dict[str, Callable[[Call], Any]] = {
        "get_table": lambda _: answer("c"),
        "get_all": lambda _: answer(chunks()),
        "get_slow": waits,
    }
    tracing = Spans().tracing if transport == "traced" else None
    async with serving_http(Silent(), settings=settings, tracing=tracing, **methods) as here:
        await leave_in(here, await connect(here, transport, tls), transport, what)
        gc.collect()
        before = alive()
        assert not before.keys() & {AcceptedBinary.__name__, AcceptedHttp.__name__}
        for _ in range(3):
            await leave_in(here, await connect(here, transport, tls), transport, what)
        with suppress(TimeoutError):
            await until(lambda: alive() - before == Counter())
        assert alive() - before == Counter()
