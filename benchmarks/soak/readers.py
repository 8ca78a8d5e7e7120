"""Reads at a steady rate over HTTP and Thrift, in a process of its own.

python -m benchmarks.soak.readers HTTP_PORT THRIFT_PORT READS_PER_S

Prints a line of JSON every few seconds: how many reads there were since the line before, how long
they took, and where the answers came from. A reply over Thrift doesn't say that.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

import uvloop

from benchmarks.report import percentile, print_line
from benchmarks.soak.connections import HttpConnection, ThriftConnection, get_table
from query_api.thrift.protocol.wire import MessageType

HTTP_CONNECTIONS: Final = 8
THRIFT_CONNECTIONS: Final = 24
"""A `latest` read waits for the events under way, so eight connections can't ask often enough."""
REPORT_S: Final = 5.0
NAMES_S: Final = 10.0
"""Tables come and go, so their names are asked for this often."""
NEEDS: Final = (
    "?consistency=latest",
    *("?consistency=any",) * 3,
    "?consistency=within&max_age_ms=1000",
    "/partition-names?consistency=any",
)
"""Over Thrift all is read as the worker's configuration says."""


class Readers:
    """Connections that share a list of tables and the counts of a report."""

    def __init__(self, http_port: int, thrift_port: int, reads_per_s: float) -> None:
        self._http_port, self._thrift_port = http_port, thrift_port
        self._pause_s = (HTTP_CONNECTIONS + THRIFT_CONNECTIONS) / reads_per_s
        self._paths: list[str] = []
        self._calls: list[bytes] = []
        self._took_ms: list[float] = []
        self._answers: Counter[str] = Counter()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_names())
            tasks.create_task(self._report())
            for number in range(HTTP_CONNECTIONS):
                tasks.create_task(self._read_by_http(Random(number)))
            for number in range(THRIFT_CONNECTIONS):
                tasks.create_task(self._read_by_thrift(Random(number)))

    async def _follow_names(self) -> None:
        connection = HttpConnection(self._http_port)
        while True:
            paths, calls = [], []
            for database in await self._listed(connection, "/v1/databases", "databases"):
                at = f"/v1/databases/{database['name']}/tables"
                for table in await self._listed(connection, at, "tables"):
                    paths.append(f"{at}/{table['tableName']}")
                    calls.append(get_table(database["name"], table["tableName"]))
            self._paths, self._calls = paths, calls
            await asyncio.sleep(NAMES_S)

    async def _listed(self, connection: HttpConnection, at: str, what: str) -> list[dict[str, Any]]:
        status, _, body = await connection.get(f"{at}?consistency=any")
        answer: dict[str, Any] = json.loads(body)
        assert status == 200, answer
        return list(answer[what])

    async def _read_by_http(self, random: Random) -> None:
        connection = HttpConnection(self._http_port)
        async for _ in self._moments():
            path = random.choice(self._paths) + random.choice(NEEDS)
            with self._timed():
                status, source, _ = await connection.get(path)
            self._answers[source if status in (200, 404) else str(status)] += 1

    async def _read_by_thrift(self, random: Random) -> None:
        connection = ThriftConnection(self._thrift_port)
        async for _ in self._moments():
            call = random.choice(self._calls)
            with self._timed():
                kind = await connection.reply(call)
            self._answers["thrift" if kind == MessageType.REPLY else "exception"] += 1

    async def _moments(self) -> AsyncIterator[None]:
        """The moments at which a connection is to read."""
        due = time.perf_counter()
        while True:
            due = max(due + self._pause_s, time.perf_counter() - 1)
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if self._paths:
                yield

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self._took_ms.append(1_000 * (time.perf_counter() - began))

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            took, self._took_ms = self._took_ms, []
            answers, self._answers = self._answers, Counter()
            if took:
                print_line(
                    reads_per_s=round(len(took) / REPORT_S),
                    p50_ms=percentile(took, 0.5),
                    p99_ms=percentile(took, 0.99),
                    answers=answers,
                )


if __name__ == "__main__":
    uvloop.run(Readers(int(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])).run())
