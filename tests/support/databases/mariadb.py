"""A MariaDB for the tests, in which each test may have databases of its own."""

import itertools
import os
import shutil
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from hive.errors import MachineError
from hive.reader.engines import unpooled_engine
from metatide.stack.database import fault
from metatide.stack.machine import LOOPBACK, as_user, free_port
from metatide.stack.ports import Ports
from metatide.stack.service import Launch, Service
from tests.support.containers import container_at, use_containers
from tests.support.processes import open_folder, running

_IMAGE = "mariadb:11.8"
_USER = "metatide"
_PASSWORD = "test"
_CONTAINER_PASSWORD = "of-a-container"
_START_TIMEOUT_S = 120.0
_POLL_S = 0.1


class MariaDb(Service):
    """The server of the system's package manager, with its data in `folder`."""

    name = "mariadb"

    def __init__(self, folder: Path, ports: Ports) -> None:
        self._folder = folder
        self._port = ports.take("mariadb")
        # Like PostgreSQL, it doesn't run as root; its package adds a user for it.
        self._user = "mysql" if os.geteuid() == 0 else None

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self._port}"

    @property
    def url(self) -> sa.URL:
        return sa.URL.create("mysql", _USER, _PASSWORD, LOOPBACK, self._port)

    def prepare(self) -> Launch:
        data = self._folder / "data"
        data.mkdir(parents=True)
        self._folder.chmod(0o711)
        if self._user is not None:
            shutil.chown(data, self._user)
        installed = subprocess.run(
            [
                _program("mariadb-install-db"),
                "--no-defaults",
                f"--datadir={data}",
                "--skip-test-db",
            ],
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd="/",
            **as_user(self._user),
        )
        assert installed.returncode == 0, installed.stdout
        first = self._folder / "first.sql"
        first.write_text(
            f"CREATE USER {_USER}@'%' IDENTIFIED BY '{_PASSWORD}';\n"
            f"GRANT ALL ON *.* TO {_USER}@'%';\n"
        )
        argv = (
            _program("mariadbd"),
            "--no-defaults",
            f"--datadir={data}",
            f"--init-file={first}",
            f"--bind-address={LOOPBACK}",
            f"--port={self._port}",
            f"--socket={data / 'socket'}",
            "--skip-name-resolve",
            # No data needs to survive a crash.
            "--innodb-flush-log-at-trx-commit=0",
        )
        return Launch(argv, user=self._user)

    def answers(self) -> bool:
        return fault(unpooled_engine(self.url)) is None


def _program(name: str) -> str:
    found = shutil.which(name, path=f"{os.environ.get('PATH', '')}:/usr/sbin:/usr/local/sbin")
    if found is None:
        raise MachineError(f"there is no {name}; install MariaDB (Debian: mariadb-server)")
    return found


@contextmanager
def _server() -> Iterator[sa.URL]:
    if use_containers():
        with _container() as url:
            yield url
        return
    with open_folder() as folder:
        mariadb = MariaDb(folder / "mariadb", Ports(folder / "ports.json"))
        with running(mariadb, folder / "log"):
            yield mariadb.url


@contextmanager
def _container() -> Iterator[sa.URL]:
    port = free_port()
    url = sa.URL.create("mysql", "root", _CONTAINER_PASSWORD, LOOPBACK, port)
    container = container_at(port, _IMAGE, 3306).with_env(
        "MARIADB_ROOT_PASSWORD", _CONTAINER_PASSWORD
    )
    with container:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while fault(unpooled_engine(url)) is not None:
            assert time.monotonic() < deadline, f"{_IMAGE} does not answer at port {port}"
            time.sleep(_POLL_S)
        yield url


@contextmanager
def new_databases() -> Iterator[Callable[[], str]]:
    """A function that creates empty databases on a server of its own, and returns their URLs,
    including the password."""
    numbers = itertools.count(1)

    with _server() as server:

        def new_database() -> str:
            name = f"test_{os.getpid()}_{next(numbers)}"
            with unpooled_engine(server).begin() as connection:
                connection.execute(sa.text(f"CREATE DATABASE {name}"))
            return server.set(database=name).render_as_string(hide_password=False)

        yield new_database


@pytest.fixture(scope="session")
def new_mariadb_database() -> Iterator[Callable[[], str]]:
    """Each call creates an empty MariaDB database and returns its URL, including the password."""
    with new_databases() as new_database:
        yield new_database
