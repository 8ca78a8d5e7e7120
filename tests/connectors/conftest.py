"""What connectors of the tests read, write and say."""

from collections.abc import Callable, Iterator

import pytest
import structlog
from structlog.testing import LogCapture

from hive.reader.engines import unpooled_engine
from state.topic import Topic
from tests.connectors.connector_runs import Log, new_topic


@pytest.fixture
def log(new_metastore_database: Callable[[], str]) -> Log:
    return Log(unpooled_engine(new_metastore_database()))


@pytest.fixture
def topic(kafka_broker: str) -> Topic:
    return new_topic(kafka_broker, 2)


@pytest.fixture
def said() -> Iterator[LogCapture]:
    capture = LogCapture()
    before = structlog.get_config()["processors"]
    structlog.configure(processors=[capture])
    yield capture
    structlog.configure(processors=before)
