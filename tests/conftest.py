"""What holds for all tests."""

import logging

import pytest
import structlog
from hypothesis import settings

pytest_plugins = [
    "tests.support.no_skips",
    # Others say what they have to say through it.
    "tests.support.summary",
    "tests.support.collection",
    "tests.support.turns",
    "tests.support.databases.mariadb",
    "tests.support.file_modes",
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
