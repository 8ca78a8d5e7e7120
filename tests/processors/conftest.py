"""What tests of the brokers' clients share."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from metatide.config import Config
from metatide.config.schema import Spark
from tests.support.processes import open_folder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.fixture(scope="module")
def kafka_spark() -> "Iterator[SparkSession]":
    """A session that reads Kafka."""
    # It takes as long as all the others together.
    from metatide.spark.session import session

    with open_folder() as folder:
        config = Config(data_dir=folder, spark=Spark(master="local[1]"))
        with session(config, "kafka", reads_kafka=True) as started:
            yield started
