"""A broker and a PostgreSQL for a whole run: the first test that needs one has it started, and all
runners of pytest-xdist share it. They run in the process that began the run and end with it.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import AbstractContextManager, contextmanager
from multiprocessing.connection import Client, Connection, Listener
from threading import Event, Lock, Thread
from typing import Any, Final

import pytest
import sqlalchemy as sa

from tests.support.databases import postgres
from tests.support.kafka import broker as kafka

_INPUT: Final = "shared_services"


@contextmanager
def _postgres() -> Iterator[str]:
    with postgres.server_url() as url:
        yield url.render_as_string(hide_password=False)


_START: Final = {"kafka": kafka.broker, "postgres": _postgres}


class _Service:
    """One that is started when its address is asked for the first time."""

    def __init__(self, start: Callable[[], AbstractContextManager[str]]) -> None:
        self._start = start
        self._address: Future[str] = Future()
        self._over = Event()
        self._lock = Lock()
        self._thread: Thread | None = None

    def address(self) -> str:
        with self._lock:
            if self._thread is None:
                self._thread = Thread(target=self._run)
                self._thread.start()
        return self._address.result()

    def end(self) -> None:
        self._over.set()
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        """Holds the service in one thread from start to end, for the kernel kills what a thread has
        started when it ends.
        """
        try:
            with self._start() as address:
                self._address.set_result(address)
                self._over.wait()
        except BaseException as error:
            if self._address.done():
                raise
            self._address.set_exception(error)


class SharedServices:
    """The services of a run, and a socket where its runners ask for their addresses."""

    def __init__(self) -> None:
        self._services = {name: _Service(start) for name, start in _START.items()}
        self._listener: Listener | None = None

    def address(self, name: str) -> str:
        return self._services[name].address()

    def listen(self) -> str:
        """Begins to answer runners; returns the path of the socket."""
        if self._listener is None:
            self._listener = Listener(family="AF_UNIX")
            Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        return str(self._listener.address)

    def end(self) -> None:
        for service in self._services.values():
            service.end()
        if self._listener is not None:
            self._listener.close()

    def _accept(self, listener: Listener) -> None:
        while True:
            try:
                connection = listener.accept()
            except OSError:
                return
            Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: "Connection[Any, Any]") -> None:
        with connection:
            try:
                connection.send((self.address(connection.recv()), None))
            except BaseException as error:
                connection.send((None, repr(error)))


_services: pytest.StashKey[SharedServices] = pytest.StashKey()


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        config.stash[_services] = SharedServices()


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """Tells a runner where to ask."""
    node.workerinput[_INPUT] = node.config.stash[_services].listen()


def pytest_unconfigure(config: pytest.Config) -> None:
    if _services in config.stash:
        config.stash[_services].end()


def _address(config: pytest.Config, name: str) -> str:
    if _services in config.stash:
        return config.stash[_services].address(name)
    workerinput: dict[str, str] = config.workerinput  # type: ignore[attr-defined]
    with Client(workerinput[_INPUT]) as connection:
        connection.send(name)
        address, fault = connection.recv()
    assert fault is None, f"{name} did not start: {fault}"
    return str(address)


@pytest.fixture(scope="session")
def kafka_broker(pytestconfig: pytest.Config) -> str:
    """The bootstrap address of a real broker; tests take topics and groups of their own."""
    return _address(pytestconfig, "kafka")


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> postgres.Server:
    return postgres.Server(sa.make_url(_address(pytestconfig, "postgres")))


@pytest.fixture(scope="session")
def new_database(postgres_server: postgres.Server) -> Callable[[], str]:
    """Makes an empty PostgreSQL database at each call and returns its URL, password included."""
    return postgres_server.new_database


@pytest.fixture(scope="session")
def new_metastore_database(postgres_server: postgres.Server) -> Callable[[], str]:
    """Makes a PostgreSQL database with the metastore's tables at each call and returns its URL,
    password included.
    """
    return postgres_server.new_metastore_database
