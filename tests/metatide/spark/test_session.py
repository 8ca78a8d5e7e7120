from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

from metatide.config import Config
from tests.support.engines.spark import USES_SPARK

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = USES_SPARK


def test_errors_of_another_java(spark: "SparkSession") -> None:
    gateway = JavaGateway.launch_gateway(die_on_exit=True)
    try:
        with pytest.raises(Py4JJavaError, match="NumberFormatException"):
            gateway.jvm.java.lang.Integer.parseInt("x")
    finally:
        gateway.shutdown()
        gateway.java_process.stdin.close()
        gateway.java_process.wait()


def test_errors_of_spark(spark: "SparkSession") -> None:
    from pyspark.errors import AnalysisException

    with pytest.raises(AnalysisException, match="no_such_table"):
        spark.table("no_such_table")


def test_the_session_of_the_program_is_used_in_every_thread(
    spark: "SparkSession", tmp_path: Path
) -> None:
    from metatide.spark.session import session

    def context_name() -> str | None:
        with session(Config(data_dir=tmp_path), "another") as found:
            return found.sparkContext.appName

    with ThreadPoolExecutor(1) as threads:
        assert threads.submit(context_name).result() == spark.sparkContext.appName
