"""Reads and lists of a worker over HTTP: how long they take, and where the answers come from."""

import statistics
import time
from collections.abc import Iterator
from contextlib import contextmanager
from random import Random
from typing import Any, Final

import httpx
import sqlalchemy as sa

from benchmarks.report import percentile
from benchmarks.ten_million.catalog import Catalog
from benchmarks.ten_million.repetition import repeating
from benchmarks.ten_million.stand import Stand
from hive.reader.engines import unpooled_engine
from metatide.stack.machine import LOOPBACK
from tests.support.workers import WorkerProcess

PAUSE_S: Final = 0.05
PAGE: Final = 100_000
"""The most names that a page may have."""
READ_ROWS: Final = 5_000


class Asking:
    """Asks for random tables, partitions and lists of the catalog, one after the other."""

    def __init__(self, worker: WorkerProcess, catalog: Catalog, consistency: str) -> None:
        self._catalog = catalog
        self._client = httpx.Client(
            base_url=f"http://{LOOPBACK}:{worker.port}",
            params={"consistency": consistency},
            timeout=60,
            trust_env=False,
        )
        self._random = Random(7)
        self._ms: dict[str, list[float]] = {}
        self._from_cache: dict[str, int] = {}
        self.unanswered = 0

    def ask(self) -> None:
        """One read of each kind."""
        number = self._random.randrange(self._catalog.partitions - 1)
        table, place = self._catalog.partition(number)
        at = path(self._catalog, table)
        self._get("table", at)
        self._get("partition", f"{at}/partitions/{name(place)}")
        small = 1 + self._random.randrange(self._catalog.tables - 1)
        self._get("names of 450", f"{path(self._catalog, small)}/partition-names")
        database, _ = self._catalog.table(small)
        self._get("tables of a database", f"/v1/databases/{database}/tables")

    def figures(self) -> dict[str, dict[str, float]]:
        return {
            kind: {
                "count": len(took),
                "p50_ms": round(statistics.median(took), 2),
                "p99_ms": percentile(took, 0.99),
                "cached_share": round(self._from_cache.get(kind, 0) / len(took), 3),
            }
            for kind, took in self._ms.items()
        }

    def _get(self, kind: str, at: str) -> None:
        began = time.perf_counter()
        try:
            answer = self._client.get(at)
        except httpx.TransportError:
            # The worker is being started again.
            self.unanswered += 1
            return
        assert answer.status_code == httpx.codes.OK, (at, answer.status_code, answer.text)
        self._ms.setdefault(kind, []).append(1_000 * (time.perf_counter() - began))
        source = answer.headers["Metatide-Source"]
        self._from_cache[kind] = self._from_cache.get(kind, 0) + (source == "cache")


@contextmanager
def asking(worker: WorkerProcess, catalog: Catalog, consistency: str) -> Iterator[Asking]:
    """Asks again and again, with pauses, while the block runs."""
    asks = Asking(worker, catalog, consistency)
    with repeating(asks.ask, PAUSE_S):
        yield asks


def path(catalog: Catalog, table: int) -> str:
    database, name = catalog.table(table)
    return f"/v1/databases/{database}/tables/{name}"


def name(place: int) -> str:
    """The name of a partition, as the database generates it, quoted for a path."""
    day = time.strftime("%Y-%m-%d", time.gmtime(1_577_836_800 + place // 24 * 86_400))
    return f"ds%3D{day}%2Fhr%3D{place % 24:02d}"


def large_lists(worker: WorkerProcess, stand: Stand, consistency: str) -> dict[str, Any]:
    """All names of the largest table, as a stream and page by page, and all its partitions."""
    at, large = path(stand.catalog, 0), stand.catalog.large
    base = f"http://{LOOPBACK}:{worker.port}"
    with httpx.Client(
        base_url=base, params={"consistency": consistency}, timeout=300, trust_env=False
    ) as client:
        names = _streamed(client, f"{at}/partition-names", large)
        partitions = _streamed(client, f"{at}/partitions", large)
        began, count = time.perf_counter(), 0
        after: str | None = ""
        while after is not None:
            page = client.get(
                f"{at}/partition-names", params={"limit": str(PAGE), "after": after}
            ).json()
            count += len(page["names"])
            after = page["next"]
        paged_s = time.perf_counter() - began
        assert count == large
        began = time.perf_counter()
        client.get(f"{at}/partition-names", params={"limit": "1000", "after": "ds=2020-01-02"})
        page_s = time.perf_counter() - began
    return {
        "names": names,
        "partitions": partitions,
        "names_in_pages_s": round(paged_s, 3),
        "page_of_1000_names_s": round(page_s, 3),
        "database_names_s": _database_names_s(stand),
    }


def _streamed(client: httpx.Client, at: str, count: int) -> dict[str, Any]:
    """The times until the first byte and the last of so many lines of JSON."""
    began, first_s, lines, size = time.perf_counter(), 0.0, 0, 0
    headers = {"Accept": "application/x-ndjson", "Accept-Encoding": "identity"}
    with client.stream("GET", at, headers=headers) as stream:
        for data in stream.iter_raw():
            first_s = first_s or time.perf_counter() - began
            lines += data.count(b"\n")
            size += len(data)
        source = stream.headers["Metatide-Source"]
    assert lines == count
    return {
        "first_byte_s": round(first_s, 3),
        "seconds": round(time.perf_counter() - began, 3),
        "mib": round(size / (1 << 20), 1),
        "source": source,
    }


def _database_names_s(stand: Stand) -> float:
    """The time of a bare statement for the same names."""
    statement = sa.text(
        'SELECT "PART_NAME" FROM "PARTITIONS" WHERE "TBL_ID" = 1 ORDER BY "PART_NAME"'
    ).execution_options(stream_results=True)
    engine = unpooled_engine(stand.url)
    began, names = time.perf_counter(), 0
    with engine.connect() as connection, connection.execute(statement) as rows:
        while fetched := rows.fetchmany(READ_ROWS):
            names += len(fetched)
    engine.dispose()
    assert names == stand.catalog.large
    return round(time.perf_counter() - began, 3)
