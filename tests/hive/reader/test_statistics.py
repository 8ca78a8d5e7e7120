"""Statistics are those that a metastore of the schema's release would find."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from hive.reader.snapshot import open_snapshot
from hive.reader.statistics import OF_PARTITIONS, OF_TABLES, stream_statistics
from hive.schema import Version, create, metadata
from tests.hive.reader.new_rows import add_row

TABLE, PARTITION = 1, 2
FIGURES = {"COLUMN_TYPE": "int", "NUM_NULLS": 0, "LAST_ANALYZED": 7, "ENGINE": "hive"}
NAMES = {"CAT_NAME": "hive", "DB_NAME": "db", "TABLE_NAME": "t", "PARTITION_NAME": "p=1"}


@pytest.fixture(params=[Version.V4_0, Version.V4_1])
def version(request: pytest.FixtureRequest) -> Version:
    version: Version = request.param
    return version


@pytest.fixture
def engine(new_database: Callable[[], str], version: Version) -> Iterator[sa.Engine]:
    engine = unpooled_engine(new_database())
    create(engine, version)
    add_row(engine, version, "DBS", DB_ID=9, NAME="db", DB_LOCATION_URI="x", CTLG_NAME="hive")
    add_row(engine, version, "TBLS", TBL_ID=TABLE, DB_ID=9, TBL_NAME="t")
    add_row(engine, version, "PARTITIONS", PART_ID=PARTITION, TBL_ID=TABLE, PART_NAME="p=1")
    yield engine
    engine.dispose()


def add_statistics(engine: sa.Engine, version: Version, kind: str, column: str, **by: str) -> None:
    """A row of the only table or partition, found by these names."""
    described = metadata(version).tables[kind].c
    names = {name: text for name, text in (NAMES | by).items() if name in described}
    owner = {"TBL_ID": TABLE} if kind == OF_TABLES else {"PART_ID": PARTITION}
    key = {"CS_ID": sum(column.encode())}
    add_row(engine, version, kind, COLUMN_NAME=column, **FIGURES, **names, **owner, **key)


def columns(engine: sa.Engine, version: Version, kind: str, owner: int) -> list[str]:
    with open_snapshot(engine, version) as snapshot:
        pages = list(stream_statistics(snapshot, kind, [owner]))
    return sorted(row.column for page in pages for row in page)


@pytest.mark.parametrize(
    ("kind", "owner", "names"),
    [
        (OF_TABLES, TABLE, ["CAT_NAME", "DB_NAME", "TABLE_NAME"]),
        (OF_PARTITIONS, PARTITION, ["CAT_NAME", "DB_NAME", "TABLE_NAME", "PARTITION_NAME"]),
    ],
)
def test_a_row_with_an_old_name_is_nobodys_up_to_4_0(
    engine: sa.Engine, version: Version, kind: str, owner: int, names: list[str]
) -> None:
    add_statistics(engine, version, kind, "a")
    for name in names:
        add_statistics(engine, version, kind, name, **{name: "old"})
    by_ids = sorted(["a", *map(str.lower, names)])
    assert columns(engine, version, kind, owner) == (["a"] if version is Version.V4_0 else by_ids)
