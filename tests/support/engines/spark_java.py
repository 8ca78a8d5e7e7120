"""The options of Spark's Javas in tests, which live for seconds: without Java's second compiler,
and with Spark's classes from an archive, a session costs the processor a third (14 s, not 40).

`python -m tests.support.engines.spark_java` makes the archive.
"""

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pyspark

from metatide.config import Config
from metatide.config.paths import cache_dir
from metatide.config.schema import Spark
from metatide.spark.session import session
from metatide.stack.class_archive import class_options
from metatide.stack.java import find_java
from metatide.stack.machine import file_lock

_MODULE: Final = "tests.support.engines.spark_java"
_SHORT_LIVED: Final = ("-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC")
_CLASSES: Final = f"{Path(pyspark.__file__).parent}/jars/*"
_MORE_CLASSES: Final = ("HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH")
"""Variables that put folders on the class path, of which no archive can be made."""


@cache
def java_options() -> str:
    """Makes the archive first where there is none."""
    with file_lock(cache_dir() / "spark-classes.lock"):
        if not _has_archive(_archive_options()):
            environment = {
                name: value for name, value in os.environ.items() if name not in _MORE_CLASSES
            }
            environment["SPARK_SUBMIT_OPTS"] = " ".join((*_SHORT_LIVED, *_archive_options()))
            command = [sys.executable, "-c", f"import {_MODULE}; {_MODULE}.load_classes()"]
            subprocess.run(command, env=environment, check=True)
    assert _has_archive(_archive_options())
    return " ".join((*_SHORT_LIVED, *_archive_options()))


def _archive_options() -> list[str]:
    return class_options("spark", find_java(), _CLASSES)[:-2]


def _has_archive(options: list[str]) -> bool:
    return any(option.startswith("-XX:SharedArchiveFile") for option in options) and not any(
        option.startswith("-XX:ArchiveClassesAtExit") for option in options
    )


def load_classes() -> None:
    """Has Spark load the classes of a usual session; Java writes the archive as it ends."""
    with TemporaryDirectory() as folder:
        config = Config(data_dir=Path(folder, "data"), spark=Spark(master="local[2]"))
        with session(config, "classes") as spark:
            rows = [(number, number % 7) for number in range(99)]
            numbers = spark.createDataFrame(rows, "a int, b int")
            numbers.groupBy("b").count().collect()
            numbers.write.parquet(f"{folder}/numbers")
            spark.read.parquet(f"{folder}/numbers").filter("a > 9").orderBy("a").collect()
            stream = spark.readStream.schema(numbers.schema).parquet(f"{folder}/numbers")
            batches = stream.writeStream.format("noop").trigger(availableNow=True)
            batches.option("checkpointLocation", f"{folder}/offsets").start().awaitTermination()
            spark.sparkContext.parallelize(range(9), 2).map(str).collect()


if __name__ == "__main__":
    print(java_options())
