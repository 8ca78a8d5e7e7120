"""Audits a catalog in RocksDB against its database; the baseline only reads the rows by the driver.

python -m benchmarks.audit [--tables N] [--partitions N]
"""

import argparse
import asyncio
import time
from collections.abc import Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path

from benchmarks.prewarm import LAYOUTS, bare, filled, run_elsewhere
from benchmarks.report import print_line
from metatide.demo.options import Size
from query_api.audit import Auditor, AuditResult, totals
from query_api.audit.scopes import known_scopes
from query_api.database import Primary
from query_api.shards import Views
from state.records import Scope
from state.store import Identity, MemoryBudget, Store
from state.store.families import SHARD_FAMILIES, STORE_FORMAT
from tests.query_api.thrift.methods.caches import Cache
from tests.support.databases import postgres
from tests.support.processes import open_folder

TABLES, PARTITIONS, SHARDS = 200, 20_000, 4
AT_ONCE = 20
"""The number of scopes per request, the same as in the command."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=TABLES)
    parser.add_argument("--partitions", type=int, default=PARTITIONS)
    arguments = parser.parse_args()
    with ExitStack() as stack:
        url = stack.enter_context(postgres.server()).new_database()
        size = Size(arguments.tables, arguments.partitions, LAYOUTS)
        run_elsewhere(partial(filled, url, size))
        began, cpu_s = time.perf_counter(), time.process_time()
        rows = bare(url)
        show_rates("select the same rows", began, cpu_s, rows=rows)
        cache = Cache(url, stores(stack.enter_context(open_folder()), stack))
        stack.callback(cache.close)
        cache.load()
        views = Views(cache.source)
        scopes = [*known_scopes(views)]
        began, cpu_s = time.perf_counter(), time.process_time()
        audits = asyncio.run(audited(url, views, scopes))
        together = totals(audits)
        assert not together.objects.wrong
        show_rates(
            "audit",
            began,
            cpu_s,
            tables_and_lists=together.scopes.seen,
            objects=together.objects.seen,
            nines=together.objects.nines or 0,
        )


def stores(folder: Path, stack: ExitStack) -> list[Store]:
    """One store per shard; the exit stack closes them."""
    budget = MemoryBudget(256 << 20)
    made = []
    for number in range(SHARDS):
        identity = Identity(
            format_version=STORE_FORMAT, topic_id="audit", partitions=SHARDS, shard=number
        )
        store = Store(folder / str(number), identity, families=SHARD_FAMILIES, budget=budget)
        stack.callback(store.close)
        made.append(store)
    return made


async def audited(url: str, views: Views, scopes: Sequence[Scope]) -> list[AuditResult]:
    primary = Primary(url)
    auditor = Auditor(views, primary)
    try:
        return [
            one
            for start in range(0, len(scopes), AT_ONCE)
            for one in await auditor.audit(scopes[start : start + AT_ONCE])
        ]
    finally:
        auditor.close()
        await primary.close()


def show_rates(name: str, began: float, cpu_began_s: float, **counts: float) -> None:
    """Prints the counts, their rates per second, and the processor time without the database's."""
    seconds, used_s = time.perf_counter() - began, time.process_time() - cpu_began_s
    rates = {f"{what}/s": round(count / seconds) for what, count in counts.items() if count > 100}
    times = {"seconds": round(seconds, 2), "cpu_seconds": round(used_s, 2)}
    print_line(benchmark=name, **counts, **rates, **times)


if __name__ == "__main__":
    main()
