"""A table with a million partitions passes through little memory."""

from collections.abc import Callable

import psutil
import pytest
import sqlalchemy as sa

from connectors.loads.batch import Database, load
from hive.names import table_name
from hive.schema import Version, create
from metatide.stack.database import make_engine
from state.records import AnyRecord, LoadEnd, LoadRows, Scope, ScopeKind, encode

PARTITIONS = 1_000_000
GROWTH_MIB_MAX = 150

ROWS = """
INSERT INTO "DBS" ("DB_ID", "NAME", "CTLG_NAME", "DB_LOCATION_URI") VALUES (1, 'd', 'hive', '/d');
INSERT INTO "CDS" VALUES (1);
INSERT INTO "COLUMNS_V2" ("CD_ID", "COLUMN_NAME", "TYPE_NAME", "INTEGER_IDX")
    SELECT 1, 'c' || n, 'string', n FROM generate_series(0, 9) AS n;
INSERT INTO "SERDES" ("SERDE_ID", "SLIB") SELECT n, 'serde' FROM generate_series(0, :count) AS n;
INSERT INTO "SERDE_PARAMS" SELECT n, 'serialization.format', '1' FROM generate_series(0, :count) n;
INSERT INTO "SDS" ("SD_ID", "CD_ID", "SERDE_ID", "LOCATION", "INPUT_FORMAT", "OUTPUT_FORMAT",
                   "IS_COMPRESSED", "IS_STOREDASSUBDIRECTORIES", "NUM_BUCKETS")
    SELECT n, 1, n, '/d/t/k=' || n, 'in', 'out', false, false, -1
    FROM generate_series(0, :count) AS n;
INSERT INTO "TBLS" ("TBL_ID", "DB_ID", "TBL_NAME", "TBL_TYPE", "SD_ID", "CREATE_TIME",
                    "LAST_ACCESS_TIME", "RETENTION")
    VALUES (1, 1, 't', 'EXTERNAL_TABLE', 0, 0, 0, 0);
INSERT INTO "PARTITION_KEYS" ("TBL_ID", "PKEY_NAME", "PKEY_TYPE", "INTEGER_IDX")
    VALUES (1, 'k', 'bigint', 0);
INSERT INTO "PARTITIONS" ("PART_ID", "PART_NAME", "TBL_ID", "SD_ID", "CREATE_TIME",
                          "LAST_ACCESS_TIME")
    SELECT n, 'k=' || n, 1, n, 0, 0 FROM generate_series(1, :count) AS n;
INSERT INTO "PARTITION_KEY_VALS" ("PART_ID", "INTEGER_IDX", "PART_KEY_VAL")
    SELECT n, 0, n::text FROM generate_series(1, :count) AS n;
INSERT INTO "PARTITION_PARAMS" ("PART_ID", "PARAM_KEY", "PARAM_VALUE")
    SELECT n, key, n::text FROM generate_series(1, :count) AS n,
        unnest(ARRAY['numFiles', 'numRows', 'totalSize']) AS key;
ANALYZE
"""


class Measuring:
    """A sink that counts, and looks how much memory the process has."""

    shards = 1

    def __init__(self) -> None:
        self.partitions = self.ends = self.rss_max = 0

    def send(self, shard: int, record: AnyRecord) -> None:
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
    engine = make_engine(new_database())
    create(engine, Version.V4_1)
    with engine.begin() as connection:
        for statement in ROWS.split(";"):
            values = {"count": PARTITIONS} if ":count" in statement else {}
            connection.execute(sa.text(statement), values)
    sink = Measuring()
    before = rss()
    scope = Scope(ScopeKind.TABLE, table_name(None, "d", "t"))
    load(Database(engine, Version.V4_1), sink, 0, [scope])
    assert (sink.partitions, sink.ends) == (PARTITIONS, 1)
    growth_mib = (sink.rss_max - before) >> 20
    print(f"{PARTITIONS:,} partitions: {growth_mib} MiB more")
    assert growth_mib < GROWTH_MIB_MAX
