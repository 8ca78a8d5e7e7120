from typing import TYPE_CHECKING

import pytest
from py4j.java_gateway import JavaGateway
from py4j.protocol import Py4JJavaError

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
