"""A metastore's database on PostgreSQL with one table, whose rows the server itself makes."""

import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from hive.schema import Version, create

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


def fill(url: str, partitions: int) -> None:
    engine = unpooled_engine(url)
    create(engine, Version.V4_1)
    with engine.begin() as connection:
        for statement in ROWS.split(";"):
            values = {"count": partitions} if ":count" in statement else {}
            connection.execute(sa.text(statement), values)
    engine.dispose()
