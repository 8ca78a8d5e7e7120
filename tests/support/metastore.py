"""Real Hive metastores for the tests."""

import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Protocol

import pytest
import sqlalchemy as sa

from metatide.stack.metastore import MessageFormat, Metastore, Settings
from metatide.stack.ports import Ports
from tests.support import hms_client
from tests.support.hms_client import HmsClient
from tests.support.processes import open_folder, running


@dataclass(frozen=True)
class Instances:
    """Metastores on one database."""

    database_url: str
    addresses: tuple[str, ...]
    processes: tuple[subprocess.Popen[bytes], ...]

    def connect(self, instance: int = 0) -> AbstractContextManager[HmsClient]:
        return hms_client.connect(self.addresses[instance])


class MetastoreFactory(Protocol):
    """Starts metastores, on an empty database of their own unless one is given."""

    def __call__(
        self,
        instances: int = 1,
        *,
        database: str | None = None,
        message_format: MessageFormat = "gzip",
        cached_store: bool = False,
        properties: Mapping[str, str] | None = None,
    ) -> Instances: ...


@contextmanager
def _factory(new_database: Callable[[], str]) -> Iterator[MetastoreFactory]:
    with ExitStack() as stack:

        def start(
            instances: int = 1,
            *,
            database: str | None = None,
            message_format: MessageFormat = "gzip",
            cached_store: bool = False,
            properties: Mapping[str, str] | None = None,
        ) -> Instances:
            url = database or new_database()
            folder = stack.enter_context(open_folder())
            ports = Ports(folder / "ports.json")
            settings = Settings(
                sa.make_url(url),
                folder / "warehouse",
                message_format,
                cached_store,
                properties or {},
            )
            addresses, processes = [], []
            for number in range(1, instances + 1):
                name = f"metastore-{number}"
                metastore = Metastore(folder / name, ports, settings, name=name)
                processes.append(stack.enter_context(running(metastore, folder / f"{name}.log")))
                addresses.append(metastore.address)
            return Instances(url, tuple(addresses), tuple(processes))

        yield start


@pytest.fixture(scope="session")
def mariadb_metastore(new_mariadb_database: Callable[[], str]) -> Iterator[Instances]:
    """The same on MariaDB."""
    with _factory(new_mariadb_database) as factory:
        yield factory()


@pytest.fixture
def metastore_factory(new_database: Callable[[], str]) -> Iterator[MetastoreFactory]:
    """`metastore_factory(instances=2, message_format="json")`; they end with the test."""
    with _factory(new_database) as factory:
        yield factory


@pytest.fixture(scope="session")
def metastore(new_database: Callable[[], str]) -> Iterator[Instances]:
    """One metastore for all tests that keep to databases with names of their own."""
    with _factory(new_database) as factory:
        yield factory()


@pytest.fixture(scope="session")
def text_metastore(new_database: Callable[[], str]) -> Iterator[Instances]:
    """One that takes the text of filters for what Hive sends as serialized expressions."""
    proxy = "org.apache.hadoop.hive.metastore.MsckPartitionExpressionProxy"
    with _factory(new_database) as factory:
        yield factory(properties={"metastore.expression.proxy": proxy})
