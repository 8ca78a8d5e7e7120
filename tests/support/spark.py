"""A Spark session for all tests that need one: to start it takes longer than they do."""

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
    # The first one starts Spark and the broker, which takes minutes on a machine that is busy.
    pytest.mark.timeout(900),
    # Py4J lets go of its sockets without closing them.
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
]
MASTER = "local[2,4]"


@pytest.fixture(scope="session")
def spark() -> "Iterator[SparkSession]":
    """Commands that run in this process use it, too."""
    # All tests import this module, and few need Spark.
    from metatide.spark.session import session

    with open_folder() as folder:
        config = Config(data_dir=folder, spark=Spark(master=MASTER))
        with session(config, "tests", reads_kafka=True) as running:
            yield running
