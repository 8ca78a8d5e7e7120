"""What holds for all tests."""

import logging
import os
from collections.abc import Iterator

import pytest
import structlog
from hypothesis import settings

pytest_plugins = [
    "tests.support.no_skips",
    # Others say what they have to say through it.
    "tests.support.summary",
    "tests.support.collection",
    "tests.support.databases.mariadb",
    "tests.support.hive.metastore",
    "tests.support.service_selection",
    "tests.support.shared_services",
    "tests.support.engines.shares",
    "tests.support.engines.spark",
    "tests.support.databases.stock_postgres",
    "tests.support.workers_secret",
]

# A deadline would assert a time, which on a busy machine says nothing about the code.
settings.register_profile("metatide", deadline=None)
settings.load_profile("metatide")


_USUAL_MASK = 0o022


@pytest.fixture(autouse=True)
def _usual_modes() -> Iterator[None]:
    """Undoes that commands within a test, or within its module's fixtures, withhold from others
    what the whole process writes: servers of other users need their folders.
    """
    os.umask(_USUAL_MASK)
    yield
    os.umask(_USUAL_MASK)


@pytest.fixture(autouse=True)
def _usual_log() -> None:
    """Undoes that a command within an earlier test has configured the logs of the whole process:
    its own, and those of libraries.
    """
    structlog.reset_defaults()
    logging.getLogger().setLevel(logging.WARNING)


@pytest.fixture(scope="session")
def anyio_backend() -> str:
    """Asynchronous tests run in asyncio alone, each in an event loop of its own."""
    return "asyncio"
