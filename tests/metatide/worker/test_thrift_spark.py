"""Spark with its built-in Hive client, of which Hive 4 alone knows too few methods, and with a
client of Hive 4, which the metastore understands by itself."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from metatide.stack import jars
from metatide.stack.machine import LOOPBACK, free_port
from tests.support import thrift_answers
from tests.support.processes import open_folder
from tests.support.shares import Record
from tests.support.stacks import stack

pytestmark = pytest.mark.hive
TIMEOUT_S = 900


def days(*numbers: int) -> list[list[Any]]:
    return [[f"ds=2026-01-{number:02}"] for number in numbers]


EXPECTED = {
    "show partitions sparks.sales": [days(1, 2, 3), days(2, 3), days(1, 2, 3, 9)],
    "select id, item, ds from sparks.sales where ds > '2026-01-01' order by id": [
        [[2, "a2", "2026-01-02"], [3, "a3", "2026-01-03"]]
    ],
    "show tblproperties sparks.sales ('season')": [[["season", "winter"]]],
    "select * from sparks.sales where ds = '2026-01-02'": [[[2, "a2", None, "2026-01-02"]]],
    "show tables in sparks": [[["sparks", "sold", False]], []],
    "select count(*) from sparks.sold": [[[3]]],
    "show databases like 'sparks'": [[]],
}
"""What repeated queries show, one after the other. MSCK finds the data of a dropped partition."""


VERSION = "4.0.1"
FOREIGN = ("org.apache.hive", "org.apache.hadoop", "org.slf4j", "org.apache.logging")
"""Of the jars beside Hive's: those of another release, and those that Spark shares with it."""


def client_jars() -> str:
    others = (one for one in jars.fetch("hive").iterdir() if not one.name.startswith(FOREIGN))
    return ",".join(f"file:{one}" for one in (*jars.fetch("hive-client").iterdir(), *others))


def asked(uri: str, warehouse: Path, *client: str) -> list[Any]:
    """What each query showed, one after the other."""
    warehouse.mkdir()
    warehouse.chmod(0o777)
    command = [sys.executable, "-m", "tests.support.spark_queries", uri, str(warehouse), *client]
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def shown(lines: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for line in lines:
        if line["query"] in EXPECTED:
            found.setdefault(line["query"], []).append(line["rows"])
    return found


@pytest.mark.timeout(2 * TIMEOUT_S)
def test_spark_creates_reads_alters_and_drops_through_the_endpoint(
    kafka_broker: str, record_answers: Record
) -> None:
    port = free_port()
    with (
        open_folder() as parent,
        stack(
            parent / "data",
            *("--kafka", kafka_broker, "--metastore", "--thrift-port", str(port)),
            METATIDE_KAFKA_TOPIC="endpoint-spark",
        ) as up,
    ):
        uri, worker = f"thrift://{LOOPBACK}:{port}", up.entry("worker-1").address
        assert shown(asked(uri, parent / "spark")) == EXPECTED
        built_in = thrift_answers.of_worker(worker)
        record_answers("Spark, built-in client", built_in)
        assert {"get_table", "get_partitions_by_filter"} <= built_in.methods()
        of_hive_4 = VERSION, client_jars()
        through = asked(uri, parent / "through", *of_hive_4)
        assert shown(through) == EXPECTED
        newer = thrift_answers.of_worker(worker).since(built_in)
        record_answers(f"Spark, client of Hive {VERSION}", newer)
        assert {"get_table_req", "get_partitions_by_filter_req"} <= newer.methods()
        direct = asked(up.entry("metastore").address, parent / "direct", *of_hive_4)
        assert [one["rows"] for one in through] == [one["rows"] for one in direct]
