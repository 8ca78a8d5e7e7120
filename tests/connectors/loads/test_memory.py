"""A table with a million partitions passes through little memory."""

from collections.abc import Callable

import psutil
import pytest

from connectors.loads.batch import Database, load
from hive.names import table_name
from hive.reader.engines import unpooled_engine
from hive.schema import Version
from state.records import AnyRecord, LoadEnd, LoadRows, Scope, ScopeKind, encode
from tests.connectors.loads.partition_rows import fill

PARTITIONS = 1_000_000
GROWTH_MIB_MAX = 150


class Measuring:
    """A sink that counts, and looks how much memory the process has."""

    shards = 1

    def __init__(self) -> None:
        self.partitions = self.ends = self.rss_max = 0

    def send(self, shard: int, record: AnyRecord, row_hash: bytes | None = None) -> None:
        assert len(encode(record)) < 1_000_000
        if isinstance(record, LoadRows):
            self.partitions += len(record.rows.partitions)
        self.ends += isinstance(record, LoadEnd)
        self.rss_max = max(self.rss_max, rss())

    def flush(self) -> None:
        pass


def rss() -> int:
    return psutil.Process().memory_info().rss


@pytest.mark.torture
@pytest.mark.timeout(3_000)
def test_a_million_partitions(new_database: Callable[[], str]) -> None:
    url = new_database()
    fill(url, PARTITIONS)
    sink = Measuring()
    before = rss()
    scope = Scope(ScopeKind.TABLE, table_name(None, "d", "t"))
    load(Database(unpooled_engine(url), Version.V4_1), sink, 0, [scope])
    assert (sink.partitions, sink.ends) == (PARTITIONS, 1)
    growth_mib = (sink.rss_max - before) >> 20
    print(f"{PARTITIONS:,} partitions: {growth_mib} MiB more")
    assert growth_mib < GROWTH_MIB_MAX
