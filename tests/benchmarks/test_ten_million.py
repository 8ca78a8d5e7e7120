"""The catalog of `benchmarks.ten_million`, and the comparison of its sizes."""

import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

import sqlalchemy as sa

from benchmarks.ten_million import growth
from benchmarks.ten_million.catalog import Catalog, fill
from benchmarks.ten_million.reads import name
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create

CATALOG = Catalog(5_000)


def test_ten_million_are_in_twenty_thousand_tables() -> None:
    catalog = Catalog(10_000_000)
    assert (catalog.tables, catalog.large) == (20_001, 1_000_000)


def test_filling_goes_on_where_it_ended(new_database: Callable[[], str]) -> None:
    url = new_database()
    engine = unpooled_engine(url)
    create(engine, Version.V4_1)
    assert fill(url, CATALOG, time.monotonic()) == 0
    with engine.begin() as connection:
        assert connection.scalar(sa.text('SELECT count(*) FROM "TBLS"')) == CATALOG.tables
    for _ in range(2):
        assert fill(url, CATALOG, time.monotonic() + 60) == CATALOG.partitions
    rows = sa.text(
        'SELECT "PART_ID", d."NAME", "TBL_NAME", "PART_NAME",'
        ' (SELECT count(*) FROM "PARTITION_PARAMS" p WHERE p."PART_ID" = n."PART_ID")'
        ' FROM "PARTITIONS" n JOIN "TBLS" USING ("TBL_ID") JOIN "DBS" d USING ("DB_ID")'
        ' ORDER BY "PART_ID"'
    )
    with engine.connect() as connection:
        filled = [tuple(row) for row in connection.execute(rows)]
    expected = []
    for number in range(CATALOG.partitions):
        table, place = CATALOG.partition(number)
        expected.append((number + 1, *CATALOG.table(table), unquote(name(place)), 5))
    assert filled == expected


def test_only_finished_pieces_count_and_growth_is_shown(tmp_path: Path) -> None:
    for size, seconds in ((10, 1.0), (1_000, 100.0)):
        folder = tmp_path / str(size)
        folder.mkdir()
        unfinished = {"piece": "load", "partitions": size, "finished": False, "seconds": 7.0}
        growth.keep(folder, unfinished)
        assert growth.figures_of(folder) == {}
        growth.keep(folder, {"piece": "load", "partitions": size, "seconds": seconds})
        assert growth.unfinished(folder, "load")[0] == unfinished
    folders = [growth.figures_of(tmp_path / size) for size in ("1000", "10")]
    assert growth.table(folders).splitlines() == [
        "| figure | 10 | 1,000 | exponent |",
        "| --- | --- | --- | --- |",
        "| load seconds | 1.0 | 100.0 | 1.00 |",
    ]
