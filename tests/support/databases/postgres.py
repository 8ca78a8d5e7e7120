"""A PostgreSQL for the tests, in which each test may have databases of its own."""

import itertools
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property

import psycopg
import sqlalchemy as sa
from psycopg import sql

from hive import schema
from hive.reader.engines import unpooled_engine
from metatide.stack.machine import LOOPBACK, free_port
from metatide.stack.ports import Ports
from metatide.stack.postgres import Postgres, connect
from tests.support.containers import container_at, use_containers
from tests.support.processes import open_folder, running

_IMAGE = "postgres:18"
_PASSWORD = "of-a-container"
_START_TIMEOUT_S = 120.0
_POLL_S = 0.1
# No data needs to survive a crash.
_FAST = {
    "max_connections": "400",
    "fsync": "off",
    "synchronous_commit": "off",
    "full_page_writes": "off",
}


class Server:
    """A running server that makes databases."""

    def __init__(self, url: sa.URL) -> None:
        self._url = url
        self._numbers = itertools.count(1)

    def new_database(self) -> str:
        """Creates an empty database; returns its URL, including the password."""
        # No session can be connected to template0, which would prevent copying it.
        return self._copy("template0")

    def new_metastore_database(self) -> str:
        """Creates a database with the metastore's tables, by a copy, which takes a quarter of the
        time; returns its URL, including the password.
        """
        return self._copy(self._template)

    @cached_property
    def _template(self) -> str:
        """The name of a database with the metastore's tables, to which nobody is connected."""
        url = sa.make_url(self.new_database())
        engine = unpooled_engine(url)
        schema.create(engine, schema.Version.V4_1)
        engine.dispose()
        assert url.database is not None
        return url.database

    def _copy(self, template: str) -> str:
        name = f"test_{os.getpid()}_{next(self._numbers)}"
        create = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        with connect(self._url) as connection:
            connection.execute(create.format(sql.Identifier(name), sql.Identifier(template)))
        return self._url.set(database=name).render_as_string(hide_password=False)


@contextmanager
def server() -> Iterator[Server]:
    with server_url() as url:
        yield Server(url)


@contextmanager
def server_url() -> Iterator[sa.URL]:
    """Runs a server; yields the URL of a database of its own, including the password."""
    with container(_IMAGE, _FAST) if use_containers() else _local() as url:
        yield url


@contextmanager
def _local() -> Iterator[sa.URL]:
    with open_folder() as folder:
        postgres = Postgres(folder / "postgres", Ports(folder / "ports.json"), _FAST)
        with running(postgres, folder / "log"):
            yield postgres.url("postgres")


@contextmanager
def container(image: str, environment: Mapping[str, str]) -> Iterator[sa.URL]:
    """Runs a server in a container with these settings; yields the URL of its own database."""
    port = free_port()
    url = sa.URL.create("postgresql", "postgres", _PASSWORD, LOOPBACK, port, "postgres")
    settings = " ".join(f"-c {key}={value}" for key, value in environment.items())
    started = (
        container_at(port, image, 5432)
        .with_env("POSTGRES_PASSWORD", _PASSWORD)
        .with_env("POSTGRES_INITDB_ARGS", "--locale=C --encoding=UTF8")
        .with_command(f"postgres {settings}")
    )
    with started:
        deadline = time.monotonic() + _START_TIMEOUT_S
        while not _answers(url):
            assert time.monotonic() < deadline, f"{image} does not answer at port {port}"
            time.sleep(_POLL_S)
        yield url


def _answers(url: sa.URL) -> bool:
    try:
        connect(url).close()
    except psycopg.OperationalError:
        return False
    return True
