"""What is left of a connection that has ended, as long as no garbage is collected."""

import asyncio
import gc
import ssl
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, suppress
from typing import Any, Final, NamedTuple

import pytest

from query_api.reasons import Reason
from query_api.thrift import server
from query_api.thrift.accepted import AcceptedBinary, AcceptedHttp
from query_api.thrift.call import Call, CallAnswer, Relay
from query_api.thrift.forward import FORWARDED
from query_api.thrift.metastore.link import Address
from query_api.thrift.sasl.mechanism import Accepted
from query_api.thrift.settings import ThriftSettings
from tests.query_api.thrift.forwarded import answer_of
from tests.query_api.thrift.http_transport.clients import HttpRunning, post, serving_http
from tests.query_api.thrift.sasl.clients import log_in
from tests.query_api.thrift.serving import Client, Metastore, answer, result, until
from tests.query_api.thrift.structs import message
from tests.support.logins.certificates import Authority
from tests.support.spans import Spans

CALLS: Final[Mapping[str, str]] = {
    "an answer": "get_table",
    "a long answer": "get_all",
    "a wait": "get_slow",
    "a relayed call": "create_table",
    "a forwarded call": "get_elsewhere",
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


class Owner(Metastore):
    """Answers some calls of another worker, and the others never."""

    def _reply(self, *more: Any) -> bool:
        return b"get_owned" not in self.calls[-1] or super()._reply(*more)


@asynccontextmanager
async def owning() -> AsyncIterator[tuple[Owner, dict[str, Any]]]:
    """The owner of all shards, and how a server finds it."""
    owner = Owner()
    owner.replies[FORWARDED] = answer_of([result("owner"), "cache", "fresh", [0, 5]])

    async def owner_of(_: int) -> Address:
        return owner.address

    await owner.start()
    try:
        yield owner, {"owner_of": owner_of, "known_owner_of": lambda _: owner.address}
    finally:
        await owner.stop()


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


def ask(client: Client, transport: str, method: str) -> None:
    data = message(method, b"\0")
    if transport == "http":
        client.writer.write(post(data))
    else:
        client.send(data)


async def leave_in(
    here: HttpRunning, owner: Metastore, client: Client, transport: str, what: str
) -> None:
    """Has the client leave in the middle of something."""
    metastore = here.running.metastores[0]
    metastore.calls.clear()
    if what == "a forwarded call":
        # Over a connection that is open, no task is needed.
        ask(client, transport, "get_owned")
        await client.reader.readuntil(b"owner")
        owner.calls.clear()
    ask(client, transport, CALLS[what])
    if what == "a relayed call":
        await until(lambda: bool(metastore.calls))
    elif what == "a forwarded call":
        await until(lambda: bool(owner.calls))
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
        "get_owned": lambda _: Relay(Reason.NOT_OWNED, 1),
        "get_elsewhere": lambda _: Relay(Reason.NOT_OWNED, 1),
    }
    tracing = Spans().tracing if transport == "traced" else None
    options = {"settings": settings, "tracing": tracing, **methods}
    async with owning() as (owner, more), serving_http(Silent(), more=more, **options) as here:
        await leave_in(here, owner, await connect(here, transport, tls), transport, what)
        gc.collect()
        before = alive()
        assert not before.keys() & {AcceptedBinary.__name__, AcceptedHttp.__name__}
        for _ in range(3):
            await leave_in(here, owner, await connect(here, transport, tls), transport, what)
        with suppress(TimeoutError):
            await until(lambda: alive() - before == Counter())
        assert alive() - before == Counter()
