"""Spark with its built-in Hive client, of which Hive 4 alone knows too few methods, and with a
client of Hive 4, which the metastore understands by itself; and Iceberg's runtime for Spark."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from metatide.config.paths import cache_dir
from metatide.stack import jars
from metatide.stack.jars import JarSet
from metatide.stack.machine import LOOPBACK, free_port
from tests.support import thrift_answers
from tests.support.engines.shares import Record
from tests.support.engines.spark_process import (
    SPARK,
    TIMEOUT_S,
    VERSION,
    client_jars,
    query_results,
)
from tests.support.processes import open_folder
from tests.support.stacks import Stack, stack
from tests.support.thrift_answers import ThriftAnswers

pytestmark = [
    pytest.mark.hive,
    pytest.mark.by_turns(3, of="large parts"),
    pytest.mark.timeout(2 * TIMEOUT_S),
]
ICEBERG = "tests.support.engines.iceberg_queries"


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


ICEBERG_ROWS = [
    [[1, "a"], [2, "b"]],
    [[1, "a", 5], [3, "c", 8]],
    [["append"], ["append"], ["overwrite"], ["delete"], ["overwrite"]],
    [["frozen", "sold", False]],
    [[1], [3]],
    [[3, 3], [6]],
]
"""What each query shows that shows anything; the last are the commits of two writers at once."""
SETS = Path(__file__).parents[2] / "support" / "jarsets"


def shown(lines: list[Any]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = {}
    for line in lines:
        if line["query"] in EXPECTED:
            found.setdefault(line["query"], []).append(line["rows"])
    return found


class Endpoint(NamedTuple):
    """A metastore behind Metatide."""

    up: Stack
    uri: str
    folder: Path

    def answers(self) -> ThriftAnswers:
        return thrift_answers.of_worker(self.up.entry("worker-1").address)


@pytest.fixture(scope="module")
def endpoint(kafka_broker: str) -> Iterator[Endpoint]:
    port = free_port()
    with (
        open_folder() as folder,
        stack(
            folder / "data",
            *("--kafka", kafka_broker, "--metastore", "--thrift-port", str(port)),
            METATIDE_KAFKA_TOPIC="endpoint-spark",
        ) as up,
    ):
        yield Endpoint(up, f"thrift://{LOOPBACK}:{port}", folder)


def test_spark_creates_reads_alters_and_drops_through_the_endpoint(
    endpoint: Endpoint, record_answers: Record
) -> None:
    up, uri, folder = endpoint
    before = endpoint.answers()
    assert shown(query_results(SPARK, uri, folder / "spark")) == EXPECTED
    built_in = endpoint.answers().since(before)
    record_answers("Spark, built-in client", built_in)
    assert {"get_table", "get_partitions_by_filter"} <= built_in.methods()
    before = endpoint.answers()
    of_hive_4 = VERSION, client_jars()
    through = query_results(SPARK, uri, folder / "through", *of_hive_4)
    assert shown(through) == EXPECTED
    newer = endpoint.answers().since(before)
    record_answers(f"Spark, client of Hive {VERSION}", newer)
    assert {"get_table_req", "get_partitions_by_filter_req"} <= newer.methods()
    direct = query_results(SPARK, up.entry("metastore").address, folder / "direct", *of_hive_4)
    assert [query["rows"] for query in through] == [query["rows"] for query in direct]


def test_iceberg_commits_through_the_endpoint(endpoint: Endpoint, record_answers: Record) -> None:
    """Without it, its client can't: Hive 4 has no `get_table`."""
    before = endpoint.answers()
    (jar,) = jars.install(JarSet.load("iceberg-spark", SETS), cache_dir() / "jars").iterdir()
    lines = query_results(ICEBERG, endpoint.uri, endpoint.folder / "iceberg", str(jar))
    record_answers("Spark with Iceberg", endpoint.answers().since(before))
    assert [line["rows"] for line in lines if line["rows"]] == ICEBERG_ROWS
