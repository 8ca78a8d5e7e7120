"""Runs queries on Iceberg's tables in a Hive metastore, with its runtime for Spark: `python -m …
URI FOLDER JAR`.

Prints one line of JSON for each query, with its text and its rows; then, how many commits each of
several writers of one table made at once.
"""

import json
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

from pyspark.sql import SparkSession

WRITERS = 2
COMMITS = 3


def queries(folder: str) -> Iterator[str]:
    table = "lake.frozen.sales"
    yield f"create namespace lake.frozen location 'file:{folder}/frozen'"
    yield (
        f"create table {table} (id int, item string, day date) using iceberg "
        "partitioned by (day) tblproperties ('commit.retry.num-retries' = '20')"
    )
    yield f"insert into {table} values (1, 'a', date '2026-01-01'), (2, 'b', date '2026-01-02')"
    yield f"select id, item from {table} order by id"
    yield f"alter table {table} add column price int"
    yield f"insert into {table} values (3, 'c', date '2026-01-03', 7)"
    yield f"update {table} set price = 5 where id = 1"
    yield f"delete from {table} where day = date '2026-01-02'"
    yield (
        f"merge into {table} t using (select 3 as id, 8 as price) s on t.id = s.id "
        "when matched then update set price = s.price"
    )
    yield f"select id, item, price from {table} order by id"
    yield f"select operation from {table}.snapshots order by committed_at"
    yield f"alter table {table} drop partition field day"
    yield f"alter table {table} rename to lake.frozen.sold"
    yield "show tables in lake.frozen"
    yield "create view lake.frozen.shown as select id from lake.frozen.sold"
    yield "select * from lake.frozen.shown order by id"
    yield "drop view lake.frozen.shown"
    yield "drop table lake.frozen.sold"
    yield "show tables in lake.frozen"
    yield "create table lake.frozen.counted (writer int) using iceberg"


def main(uri: str, folder: str, jar: str) -> None:
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.host", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", "1")
        .config("spark.jars", jar)
        .config(
            "spark.sql.extensions",
            "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
        )
        .config("spark.sql.catalog.lake", "org.apache.iceberg.spark.SparkCatalog")
        .config("spark.sql.catalog.lake.type", "hive")
        .config("spark.sql.catalog.lake.uri", uri)
        .config("spark.sql.catalog.lake.warehouse", f"file:{folder}")
        .config("spark.sql.catalog.lake.cache-enabled", "false")
        .getOrCreate()
    )
    for query in queries(folder):
        try:
            rows = [list(row) for row in spark.sql(query).collect()]
        except Exception as error:
            rows = [[str(error)[:300]]]
        print(json.dumps({"query": query, "rows": rows}), flush=True)

    def write(writer: int) -> int:
        """The number of commits; the writer sees each as soon as it is made."""
        for done in range(1, 1 + COMMITS):
            spark.sql(f"insert into lake.frozen.counted values ({writer})").collect()
            of_writer = f"select * from lake.frozen.counted where writer = {writer}"
            assert spark.sql(of_writer).count() == done
        return COMMITS

    with ThreadPoolExecutor(WRITERS) as pool:
        commits = [*pool.map(write, range(WRITERS))]
    total = spark.sql("select * from lake.frozen.counted").count()
    print(json.dumps({"query": "commits", "rows": [commits, [total]]}), flush=True)
    spark.stop()


if __name__ == "__main__":
    os.environ["PYSPARK_PYTHON"] = sys.executable
    main(*sys.argv[1:])
