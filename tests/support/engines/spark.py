"""A Spark session for all tests that need one: it takes longer to start than they do to run."""

import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from metatide.config import Config
from metatide.config.schema import Spark
from tests.support.processes import open_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

USES_SPARK = [
    pytest.mark.spark,
    pytest.mark.usefixtures("spark"),
    # The first test starts Spark and the broker, which takes minutes on a busy machine.
    pytest.mark.timeout(900),
    # Py4J drops its sockets without closing them.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
MASTER = "local[2,4]"


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if item.get_closest_marker("spark") is not None:
        from tests.support.engines.spark_java import java_options

        os.environ["SPARK_SUBMIT_OPTS"] = java_options()


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """A session that commands run in this process use, too."""
    # All tests import this module, but few need Spark.
    from metatide.spark.session import session

    with open_folder() as folder:
        config = Config(data_dir=folder, spark=Spark(master=MASTER))
        with session(config, "tests", reads_kafka=True) as running:
            yield running
