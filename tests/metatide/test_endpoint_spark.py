"""Spark with its built-in Hive client, of which Hive 4 alone knows too few methods."""

import json
import subprocess
import sys
from typing import Any

import httpx
import pytest

from metatide.stack.machine import LOOPBACK, free_port
from tests.support.processes import open_folder
from tests.support.stacks import stack

pytestmark = [pytest.mark.hive, pytest.mark.torture]
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


@pytest.mark.timeout(2 * TIMEOUT_S)
def test_spark_creates_reads_alters_and_drops_through_the_endpoint(kafka_broker: str) -> None:
    port = free_port()
    with (
        open_folder() as parent,
        stack(
            parent / "data",
            *("--kafka", kafka_broker, "--metastore", "--thrift-port", str(port)),
            METATIDE_KAFKA_TOPIC="endpoint-spark",
        ) as up,
    ):
        warehouse = parent / "spark"
        warehouse.mkdir()
        warehouse.chmod(0o777)
        uri = f"thrift://{LOOPBACK}:{port}"
        command = [sys.executable, "-m", "tests.support.spark_queries", uri, str(warehouse)]
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
        assert done.returncode == 0, done.stderr[-4000:]
        lines = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
        shown: dict[str, list[Any]] = {}
        for line in lines:
            if line["query"] in EXPECTED:
                shown.setdefault(line["query"], []).append(line["rows"])
        assert shown == EXPECTED
        page = httpx.get(f"{up.entry('worker-1').address}/metrics", timeout=30).text
        for method in ("get_table", "get_partitions_by_filter"):
            cached = f'metatide_thrift_answers_total{{method="{method}",reason="fresh"'
            assert cached in page, f"some of {method} came from the cache"
