"""Spark in a process of its own, with its built-in Hive client or with one of Hive 4."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from metatide.stack import jars
from tests.support.engines.spark_java import java_options

SPARK: Final = "tests.support.engines.spark_queries"
SELECTED: Final = "select id, item, ds from sparks.sales where ds > '2026-01-01' order by id"
"""One of its queries, which shows what others have written."""
TIMEOUT_S: Final = 900
_CORE_SITE: Final = (
    "<configuration><property><name>hadoop.security.authentication</name>"
    "<value>kerberos</value></property></configuration>"
)
VERSION: Final = "4.0.1"
"""Of Hive's client."""
_FOREIGN: Final = ("org.apache.hive", "org.apache.hadoop", "org.slf4j", "org.apache.logging")
"""Of the jars beside Hive's: those of another release, and those that Spark shares with it."""


def client_jars() -> str:
    """The jars of a client of Hive 4, as Spark's settings name them."""
    others = (one for one in jars.fetch("hive").iterdir() if not one.name.startswith(_FOREIGN))
    return ",".join(f"file:{one}" for one in (*jars.fetch("hive-client").iterdir(), *others))


def query_results(module: str, uri: str, warehouse: Path, *client: str) -> list[Any]:
    """What each query showed, one after the other."""
    warehouse.mkdir()
    warehouse.chmod(0o777)
    command = [sys.executable, "-m", module, uri, str(warehouse), *client]
    environment = {**os.environ, "SPARK_SUBMIT_OPTS": java_options()}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def by_ticket(
    patch: pytest.MonkeyPatch, folder: Path, principal: str, keytab: Path, java_option: str
) -> list[str]:
    """The options with which Spark logs in by a keytab. It does so before it reads settings of its
    own, so that Hadoop's are in a file.
    """
    (folder / "core-site.xml").write_text(_CORE_SITE)
    patch.setenv("HADOOP_CONF_DIR", str(folder))
    login = "--principal", principal, "--keytab", str(keytab)
    return [*login, "--driver-java-options", java_option]


def set_properties(
    patch: pytest.MonkeyPatch, properties: Mapping[str, str], options: Sequence[str]
) -> None:
    """Has the next Spark begin with these properties of Hadoop and Hive."""
    settings = [f"spark.hadoop.{name}={value}" for name, value in properties.items()]
    more = [word for setting in settings for word in ("--conf", setting)]
    patch.setenv("PYSPARK_SUBMIT_ARGS", shlex.join([*options, *more, "pyspark-shell"]))
