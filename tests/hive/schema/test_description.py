from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from threading import Barrier, BrokenBarrierError

import pytest
from sqlalchemy import Dialect, MetaData, make_url
from sqlalchemy.schema import CreateTable

from hive.schema import Version, bookkeeping, description, metadata


def test_4_1_describes_statistics_by_ids_alone() -> None:
    for name, of_partitions in (("TAB_COL_STATS", False), ("PART_COL_STATS", True)):
        before = {column.name for column in metadata(Version.V4_0).tables[name].columns}
        after = {column.name for column in metadata(Version.V4_1).tables[name].columns}
        names = {"CAT_NAME", "DB_NAME", "TABLE_NAME"}
        assert before - after == (names | {"PARTITION_NAME"} if of_partitions else names)
        assert not after - before


def test_4_1_adds_parameters_of_catalogs_and_nothing_else() -> None:
    before, after = metadata(Version.V4_0).tables, metadata(Version.V4_1).tables
    assert after.keys() - before.keys() == {"CATALOG_PARAMS"}
    assert not before.keys() - after.keys()
    changed = {name for name in before if before[name].c.keys() != after[name].c.keys()}
    assert changed == {"TAB_COL_STATS", "PART_COL_STATS"}


def test_identifiers_are_quoted_except_those_that_3_1_left_unquoted() -> None:
    assert 'CREATE TABLE "TXNS"' in statement("TXNS", Version.V4_0, "postgresql")
    assert "CREATE TABLE `TXNS`" in statement("TXNS", Version.V4_0, "mysql+pymysql")
    assert '"' not in statement("TXNS", Version.V3_1, "postgresql")
    assert 'CREATE TABLE "TBLS"' in statement("TBLS", Version.V3_1, "postgresql")


def statement(table: str, version: Version, drivername: str) -> str:
    dialect: Dialect = make_url(f"{drivername}://").get_dialect()()
    return str(CreateTable(metadata(version).tables[table]).compile(dialect=dialect))


def test_a_description_is_made_once() -> None:
    assert metadata(Version.V4_1) is metadata(Version.V4_1)


def test_threads_that_ask_first_get_the_same_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    begun = Barrier(2)
    describe = bookkeeping.describe

    def describe_slowly(described: MetaData, version: Version) -> None:
        # The other thread comes here, too, unless it waits.
        with suppress(BrokenBarrierError):
            begun.wait(0.5)
        describe(described, version)

    monkeypatch.setattr(bookkeeping, "describe", describe_slowly)
    monkeypatch.setattr(description, "_described", cache(description._described.__wrapped__))
    with ThreadPoolExecutor(2) as threads:
        first, second = threads.map(metadata, [Version.V4_1] * 2)
    assert first is second
