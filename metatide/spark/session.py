"""A Spark session for one command: quiet, named, and with our code on its executors."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import py4j.java_gateway
import py4j.protocol
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from hive.errors import InputError, MachineError, TaskError
from metatide.config import Config
from metatide.process.data_folder import open_data_folder
from metatide.spark.package_archive import archive
from metatide.stack import jars
from metatide.stack.java import find_java
from metatide.stack.logs import LogFile
from metatide.stack.machine import LOOPBACK

_ERROR_CHARS_MAX = 300
_SHUFFLE_PARTITIONS = "8"
_SPECULATION = ("spark.speculation", "false")


@contextmanager
def session(
    config: Config, job: str, *, reads_kafka: bool = False, speculates: bool = True
) -> Iterator[SparkSession]:
    """The session of the running program, or else a new one that ends with the block.

    `job` is its name in Spark's pages. `reads_kafka` adds Spark's own source of Kafka records.
    Without `speculates`, no task runs twice at a time, whatever the settings say. Errors on
    executors are raised here as errors of ours, in one line.
    """
    running = _running()
    settings = {} if speculates else dict([_SPECULATION])
    with _plain_errors():
        if running is None:
            # Java knows what an error says, and ends with the session.
            with _own(config, job, settings, reads_kafka=reads_kafka) as own, _plain_errors():
                yield own
        elif not speculates and running.sparkContext.getConf().get(*_SPECULATION) == "true":
            raise InputError("the running Spark session speculates: set spark.speculation to false")
        else:
            yield running


def _running() -> SparkSession | None:
    """The session of this program. Java knows an active one by its thread; each of Python's threads
    has one there, which py4j may replace.
    """
    active = SparkSession.getActiveSession()
    if active is None and SparkContext._active_spark_context is not None:  # noqa: SLF001
        return SparkSession.builder.getOrCreate()
    return active


@contextmanager
def _plain_errors() -> Iterator[None]:
    try:
        yield
    except (Py4JError, PySparkException) as error:
        text = str(error)
        message = TaskError.find(text)
        if message is None:
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            cause = next((line for line in reversed(lines) if line.startswith("Caused by")), None)
            message = (cause or " ".join(lines))[:_ERROR_CHARS_MAX]
        raise MachineError(f"Spark: {message}") from error


@contextmanager
def _own(
    config: Config, job: str, more: dict[str, str], *, reads_kafka: bool
) -> Iterator[SparkSession]:
    find_java()
    master = config.spark.master
    is_local = master.startswith("local")
    if is_local:
        # A local driver talks to no other machine; executors elsewhere need its real name.
        os.environ.setdefault("SPARK_LOCAL_IP", LOOPBACK)
        # Spark's default number is for clusters; on one machine most partitions would be empty.
        more = {"spark.sql.shuffle.partitions": _SHUFFLE_PARTITIONS, **more}
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {
        "spark.master": master,
        "spark.app.name": f"Metatide: {job}",
        "spark.driver.memory": f"{config.spark.driver_memory_mib}m",
        "spark.ui.showConsoleProgress": "false",
        "spark.log.level": "WARN",
        "spark.sql.session.timeZone": "UTC",
        **more,
    }
    if reads_kafka:
        folder = jars.fetch("spark")
        settings["spark.jars"] = ",".join(str(path) for path in sorted(folder.iterdir()))
    conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
    log = LogFile(open_data_folder(config) / "spark" / "driver.log")
    log.bound()
    with log.open() as out, tempfile.TemporaryDirectory(prefix="metatide-spark-") as folder_name:
        gateway = _launch(conf, out, log)
        try:
            context = SparkContext(conf=conf, gateway=gateway)
            if not is_local:
                context.addPyFile(str(archive(Path(folder_name) / "metatide.zip")))
            spark = SparkSession(context)
            _read_errors_of(gateway)
            yield spark
        finally:
            _stop(gateway)


def _launch(conf: SparkConf, out: Any, log: LogFile) -> Any:
    """Starts Java with its output in the log: Spark prints much before its log level can be set.

    Java ends with this process, because it reads from a pipe that closes then.
    """
    try:
        return launch_gateway(  # type: ignore[no-untyped-call]
            conf, {"stdout": out, "stderr": subprocess.STDOUT}
        )
    except PySparkException as error:
        raise MachineError(f"Spark doesn't start{log.last_words()}") from error


def _read_errors_of(gateway: Any) -> None:
    """Lets Spark's reader of errors read those of its own Java, and py4j's those of all others.

    Spark puts its reader into py4j for every gateway of the process. Where a gateway's Java has no
    Spark in it, an error of that Java can't be read then.
    """
    read_spark = py4j.java_gateway.get_return_value
    client = gateway._gateway_client  # noqa: SLF001

    def read(answer: str, gateway_client: Any, *more: Any) -> Any:
        reader = read_spark if gateway_client is client else py4j.protocol.get_return_value
        return reader(answer, gateway_client, *more)

    py4j.java_gateway.get_return_value = read


def _stop(gateway: Any) -> None:
    active = SparkContext._active_spark_context  # noqa: SLF001
    with suppress(Py4JError, OSError):
        if active is not None:
            active.stop()
        gateway.shutdown()
    # The next session of this process must start a Java of its own.
    SparkContext._gateway = SparkContext._jvm = None  # noqa: SLF001
    py4j.java_gateway.get_return_value = py4j.protocol.get_return_value
    process = gateway.proc
    if process is not None:
        process.stdin.close()
        process.wait()
