"""The PostgreSQL of the system's package manager with its default settings, except its address."""

import itertools
import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from hive.errors import MachineError
from metatide.stack.machine import LOOPBACK, as_user
from metatide.stack.ports import Ports
from metatide.stack.postgres import connect
from metatide.stack.service import Launch, Service
from tests.support.containers import use_containers
from tests.support.databases import postgres
from tests.support.processes import open_folder, running

_IMAGE = "postgres:15"
_PACKAGES = Path("/usr/lib/postgresql")
_USER = "metatide"
_PASSWORD = "test"


class NewStockDatabase(Protocol):
    """Each call creates an empty database and returns its URL, including the password.

    It sorts names by bytes, or by ICU's rules for a language such as `en-US`.
    """

    def __call__(self, collation: str = "C") -> str: ...


class StockPostgres(Service):
    """The packaged server, with its data in `folder`."""

    name = "stock-postgres"
    stop_signal = signal.SIGINT

    def __init__(self, folder: Path, ports: Ports) -> None:
        self._folder = folder
        self._port = ports.take("stock-postgres")
        # It doesn't run as root; the package adds a user for it.
        self._user = "postgres" if os.geteuid() == 0 else None

    @property
    def address(self) -> str:
        return f"{LOOPBACK}:{self._port}"

    @property
    def url(self) -> sa.URL:
        return sa.URL.create("postgresql", _USER, _PASSWORD, LOOPBACK, self._port, "postgres")

    def prepare(self) -> Launch:
        programs = _programs()
        data, password = self._folder / "data", self._folder / "password"
        data.mkdir(parents=True)
        self._folder.chmod(0o711)
        password.write_text(_PASSWORD)
        if self._user is not None:
            shutil.chown(data, self._user)
        command = [str(programs / "initdb"), "-D", str(data), "-U", _USER, "--encoding=UTF8"]
        command += ["--locale=C", "--auth=scram-sha-256", f"--pwfile={password}"]
        subprocess.run(
            command,
            check=True,
            capture_output=True,
            cwd="/",
            **as_user(self._user),
        )
        address = {"listen_addresses": LOOPBACK, "unix_socket_directories": ""}
        options = [part for item in address.items() for part in ("-c", "=".join(item))]
        argv = (str(programs / "postgres"), "-D", str(data), "-p", str(self._port), *options)
        return Launch(argv, user=self._user)

    def answers(self) -> bool:
        try:
            connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True


def _programs() -> Path:
    """The folder with the programs of the newest server that is installed."""
    installed = [path.parent for path in _PACKAGES.glob("*/bin/initdb")]
    if not installed:
        raise MachineError(f"there is no PostgreSQL in {_PACKAGES} (Debian: postgresql)")
    return max(installed, key=lambda folder: int(folder.parent.name))


@contextmanager
def server() -> Iterator[sa.URL]:
    """Runs a server; yields the URL of its own database."""
    with postgres.container(_IMAGE, {}) if use_containers() else local_server() as url:
        yield url


@contextmanager
def local_server() -> Iterator[sa.URL]:
    """Runs a server on this machine, for tests that write its files."""
    with open_folder() as folder:
        stock = StockPostgres(folder / "postgres", Ports(folder / "ports.json"))
        with running(stock, folder / "log"):
            yield stock.url


@contextmanager
def new_databases() -> Iterator[NewStockDatabase]:
    """A function that creates databases on a server of its own."""
    numbers = itertools.count(1)

    with server() as url:

        def new_database(collation: str = "C") -> str:
            name = f"test_{os.getpid()}_{next(numbers)}"
            statement = sql.SQL(
                "CREATE DATABASE {} TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'"
            ).format(sql.Identifier(name))
            if collation != "C":
                by_icu = sql.SQL(" LOCALE_PROVIDER icu ICU_LOCALE {}")
                statement += by_icu.format(sql.Literal(collation))
            with connect(url) as connection:
                connection.execute(statement)
            return url.set(database=name).render_as_string(hide_password=False)

        yield new_database


@pytest.fixture(scope="session")
def new_stock_database() -> Iterator[NewStockDatabase]:
    """Creates databases, as in `new_stock_database()` and `new_stock_database("en-US")`, on one
    server.
    """
    with new_databases() as new_database:
        yield new_database
