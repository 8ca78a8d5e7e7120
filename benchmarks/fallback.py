"""What a read costs that the database answers, when the database is near and when it is far away.

Beside each figure is a bare statement on a connection of its own, by the same way.

python -m benchmarks.fallback [--delays MS …] [--seconds S]
"""

import argparse
import asyncio
import time
from collections.abc import Callable
from functools import partial
from random import Random
from typing import Any, Final

import sqlalchemy as sa

from benchmarks.delay import delayed_database
from benchmarks.prewarm import LAYOUTS, filled, run_elsewhere, table_names
from benchmarks.report import load_average, percentile, print_line
from hive.names import DatabaseName, TableName
from hive.reader.engines import unpooled_engine
from metatide.demo.options import Size
from query_api.database import Primary
from query_api.database.reads import CurrentEvent
from query_api.reads import GetDatabase, GetTable, ListTables
from query_api.reads.read import Read
from tests.support.databases import postgres

SIZE: Final = Size(200, 2_000, LAYOUTS)
DELAYS_MS: Final = (0.0, 20.0)
SECONDS: Final = 5.0

Reads = dict[str, Callable[[], Read[Any]]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--delays", type=float, nargs="+", default=DELAYS_MS)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    arguments = parser.parse_args()
    with postgres.server() as server:
        url = sa.make_url(server.new_database())
        run_elsewhere(partial(filled, url.render_as_string(hide_password=False), SIZE))
        reads = _reads(url)
        for delay_ms in arguments.delays:
            with delayed_database(url, delay_ms) as way:
                _measure(delay_ms, way, reads, arguments.seconds)


def _reads(url: sa.URL) -> Reads:
    """Reads of each kind, of objects drawn from all there are."""
    tables = [TableName("hive", db, table) for db, table in table_names(url)]
    random = Random(1)
    database: Callable[[], DatabaseName] = lambda: random.choice(tables).database  # noqa: E731
    return {
        "current event": CurrentEvent,
        "database": lambda: GetDatabase(database()),
        "table": lambda: GetTable(random.choice(tables)),
        "names of tables": lambda: ListTables(database()),
    }


def _measure(delay_ms: float, url: sa.URL, reads: Reads, seconds: float) -> None:
    text = url.render_as_string(hide_password=False)
    bare_ms = _bare_ms(text, seconds)
    for name, draw in reads.items():
        took_ms, cpu_ms = asyncio.run(_answers(text, draw, seconds))
        print_line(
            delay_ms=delay_ms,
            read=name,
            p50_ms=percentile(took_ms, 0.5),
            p99_ms=percentile(took_ms, 0.99),
            cpu_ms=round(cpu_ms, 3),
            bare_statement_p50_ms=percentile(bare_ms, 0.5),
            bare_statement_p99_ms=percentile(bare_ms, 0.99),
            reads=len(took_ms),
            load_average=load_average(),
        )


def _bare_ms(url: str, seconds: float) -> list[float]:
    engine = unpooled_engine(url).execution_options(isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        took_ms = _timed(lambda: connection.exec_driver_sql("SELECT 1").all(), seconds)
    engine.dispose()
    return took_ms


def _timed(work: Callable[[], object], seconds: float) -> list[float]:
    took_ms = []
    end = time.perf_counter() + seconds
    while (began := time.perf_counter()) < end:
        work()
        took_ms.append(1000 * (time.perf_counter() - began))
    return took_ms


async def _answers(
    url: str, draw: Callable[[], Read[Any]], seconds: float
) -> tuple[list[float], float]:
    """The times of answers to one caller, and the processor's time of each."""
    primary = Primary(url)
    try:
        for _ in range(20):
            await primary.answer(draw())
        took_ms = []
        cpu_s, end = time.process_time(), time.perf_counter() + seconds
        while (began := time.perf_counter()) < end:
            await primary.answer(draw())
            took_ms.append(1000 * (time.perf_counter() - began))
        return took_ms, 1000 * (time.process_time() - cpu_s) / len(took_ms)
    finally:
        await primary.close()


if __name__ == "__main__":
    main()
