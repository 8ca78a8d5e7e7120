"""Reads at a steady rate over keep-alive connections, in a process of its own.

python -m benchmarks.soak.readers PORT READS_PER_S

Prints a line of JSON every few seconds: how many reads there were since the line before, how long
they took, and where the answers came from.
"""

import asyncio
import json
import sys
import time
from collections import Counter
from random import Random
from typing import Any, Final

from benchmarks.live import percentile
from metatide.stack.machine import LOOPBACK

CONNECTIONS: Final = 16
REPORT_S: Final = 5.0
NAMES_S: Final = 10.0
"""Tables come and go, so their names are asked for this often."""
NEEDS: Final = (
    *("?consistency=latest",) * 5,
    *("?consistency=any",) * 3,
    "?consistency=within&max_age_ms=1000",
    "/partition-names?consistency=latest",
)


class Connection:
    """A keep-alive connection that asks one thing after the other."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._reader: asyncio.StreamReader | None = None
        self._writer: asyncio.StreamWriter | None = None

    async def get(self, path: str) -> tuple[int, str, bytes]:
        """The status, the source and the body of an answer."""
        if self._reader is None or self._writer is None:
            self._reader, self._writer = await asyncio.open_connection(LOOPBACK, self._port)
        self._writer.write(f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        head = (await self._reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        headers = dict(line.split(": ", 1) for line in head[1:] if line)
        body = await self._reader.readexactly(int(headers["content-length"]))
        return int(head[0].split()[1]), headers.get("metatide-source", ""), body


class Readers:
    """Connections that share a list of tables and the counts of a report."""

    def __init__(self, port: int, reads_per_s: float) -> None:
        self._port = port
        self._pause_s = CONNECTIONS / reads_per_s
        self._paths: list[str] = []
        self._took_ms: list[float] = []
        self._answers: Counter[str] = Counter()

    async def run(self) -> None:
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._follow_names())
            tasks.create_task(self._report())
            for number in range(CONNECTIONS):
                tasks.create_task(self._read(Random(number)))

    async def _follow_names(self) -> None:
        connection = Connection(self._port)
        while True:
            paths = []
            for database in await self._listed(connection, "/v1/databases", "databases"):
                at = f"/v1/databases/{database['name']}/tables"
                tables = await self._listed(connection, at, "tables")
                paths += [f"{at}/{table['tableName']}" for table in tables]
            self._paths = paths
            await asyncio.sleep(NAMES_S)

    async def _listed(self, connection: Connection, at: str, what: str) -> list[dict[str, Any]]:
        status, _, body = await connection.get(f"{at}?consistency=any")
        answer: dict[str, Any] = json.loads(body)
        assert status == 200, answer
        return list(answer[what])

    async def _read(self, random: Random) -> None:
        connection, due = Connection(self._port), time.perf_counter()
        while True:
            due = max(due + self._pause_s, time.perf_counter() - 1)
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            if not self._paths:
                continue
            path = random.choice(self._paths) + random.choice(NEEDS)
            began = time.perf_counter()
            status, source, _ = await connection.get(path)
            self._took_ms.append(1_000 * (time.perf_counter() - began))
            self._answers[source if status in (200, 404) else str(status)] += 1

    async def _report(self) -> None:
        while True:
            await asyncio.sleep(REPORT_S)
            took, self._took_ms = self._took_ms, []
            answers, self._answers = self._answers, Counter()
            if took:
                line = {
                    "reads_per_s": round(len(took) / REPORT_S),
                    "p50_ms": percentile(took, 0.5),
                    "p99_ms": percentile(took, 0.99),
                    "answers": answers,
                }
                print(json.dumps(line), flush=True)


if __name__ == "__main__":
    asyncio.run(Readers(int(sys.argv[1]), float(sys.argv[2])).run())
