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
from tests.support.hive import hms_client
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.old_hms_client import OldHmsClient
from tests.support.hive.releases import NEWEST, RELEASES
from tests.support.processes import open_folder, running


@dataclass(frozen=True)
class Instances:
    """Metastores of one release on one database."""

    database_url: str
    addresses: tuple[str, ...]
    processes: tuple[subprocess.Popen[bytes], ...]
    release: str = NEWEST

    def connect(self, instance: int = 0) -> AbstractContextManager[HmsClient]:
        """A client whose calls this release knows."""
        kind = OldHmsClient if self.release.startswith("3.") else HmsClient
        return hms_client.connect(self.addresses[instance], kind=kind)


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
        release: str = NEWEST,
    ) -> Instances: ...


@contextmanager
def metastores(new_database: Callable[[], str]) -> Iterator[MetastoreFactory]:
    """A factory of metastores on databases from `new_database`; they end with the block."""
    with ExitStack() as stack:

        def start(
            instances: int = 1,
            *,
            database: str | None = None,
            message_format: MessageFormat = "gzip",
            cached_store: bool = False,
            properties: Mapping[str, str] | None = None,
            release: str = NEWEST,
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
                metastore = Metastore(
                    folder / name, ports, settings, name=name, release=RELEASES[release]
                )
                processes.append(stack.enter_context(running(metastore, folder / f"{name}.log")))
                addresses.append(metastore.address)
            return Instances(url, tuple(addresses), tuple(processes), release)

        yield start


@pytest.fixture(scope="session")
def mariadb_metastore(new_mariadb_database: Callable[[], str]) -> Iterator[Instances]:
    """One metastore on MariaDB for all tests."""
    with metastores(new_mariadb_database) as factory:
        yield factory()


@pytest.fixture
def metastore_factory(new_database: Callable[[], str]) -> Iterator[MetastoreFactory]:
    """Starts metastores, as in `metastore_factory(instances=2, message_format="json")`; they end
    with the test.
    """
    with metastores(new_database) as factory:
        yield factory


@pytest.fixture(scope="session")
def metastore(new_database: Callable[[], str]) -> Iterator[Instances]:
    """One metastore for all tests that use only databases with names of their own."""
    with metastores(new_database) as factory:
        yield factory()


@pytest.fixture(scope="session")
def text_metastore(new_database: Callable[[], str]) -> Iterator[Instances]:
    """A metastore that expects filters as text in place of Hive's serialized expressions."""
    proxy = "org.apache.hadoop.hive.metastore.MsckPartitionExpressionProxy"
    with metastores(new_database) as factory:
        yield factory(properties={"metastore.expression.proxy": proxy})
