"""Runs queries on a Spark with its built-in Hive client: `python -m … URI FOLDER`. To use another
client, name its release and its jars, as URLs separated by commas: `python -m … URI FOLDER 4.0.1
JARS`.

Prints one line of JSON for each query, with its text and its rows.
"""

import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from pyspark.sql import SparkSession


def queries(folder: str) -> Iterator[str]:
    table = "sparks.sales"
    yield f"create database sparks location 'file:{folder}/sparks.db'"
    yield (
        f"create table {table} (id int, item string) partitioned by (ds string) stored as parquet "
        f"location 'file:{folder}/sparks.db/sales'"
    )
    for day in (1, 2, 3):
        yield f"insert into {table} partition (ds='2026-01-0{day}') values ({day}, 'a{day}')"
    yield f"show partitions {table}"
    yield f"select id, item, ds from {table} where ds > '2026-01-01' order by id"
    yield f"alter table {table} add columns (price int)"
    yield f"alter table {table} set tblproperties ('season' = 'winter')"
    yield f"show tblproperties {table} ('season')"
    yield f"select * from {table} where ds = '2026-01-02'"
    yield f"alter table {table} drop partition (ds='2026-01-01')"
    yield f"show partitions {table}"
    yield f"msck repair table {table}"
    yield f"show partitions {table}"
    yield f"alter table {table} rename to sparks.sold"
    yield "show tables in sparks"
    yield "select count(*) from sparks.sold"
    yield "drop table sparks.sold"
    yield "show tables in sparks"
    yield "drop database sparks"
    yield "show databases like 'sparks'"


def main(uri: str, folder: str, version: str = "", jars: str = "") -> None:
    client: dict[str, bool | float | int | str | None] = {
        "spark.sql.hive.metastore.version": version,
        "spark.sql.hive.metastore.jars": "path",
        "spark.sql.hive.metastore.jars.path": jars,
    }
    spark = (
        SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "1")
        # To compile what runs once takes longer than to interpret it.
        .config("spark.sql.codegen.wholeStage", "false")
        .config("spark.sql.codegen.factoryMode", "NO_CODEGEN")
        .config("spark.sql.warehouse.dir", f"file:{folder}")
        .config("spark.hadoop.hive.metastore.uris", uri)
        .config(map=client if version else {})
        .enableHiveSupport()
        .getOrCreate()
    )
    for query in queries(folder):
        if query.startswith("msck"):
            # A partition that the metastore doesn't know.
            Path(folder, "sparks.db", "sales", "ds=2026-01-09").mkdir(parents=True)
        rows = [list(row) for row in spark.sql(query).collect()]
        print(json.dumps({"query": query, "rows": rows}), flush=True)
    spark.stop()


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(*sys.argv[1:])
