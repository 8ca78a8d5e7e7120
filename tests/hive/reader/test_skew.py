"""Skewed values, whose lists are rows of other tables."""

from collections.abc import Callable
from functools import partial

import pytest
import sqlalchemy as sa

from hive.reader.engines import unpooled_engine
from hive.reader.snapshot import open_snapshot
from hive.reader.tables import read_tables
from hive.schema import Version, create
from hive.thrift.binary import decode
from hive.thrift.structs import TABLE
from tests.hive.reader.new_rows import add_row

VERSION = Version.V4_1
COLUMNS, STORAGE = 3, 5
LISTS = {11: ["b", "a"], 12: [], 13: ["c", "d"]}


@pytest.fixture(params=["postgresql", pytest.param("mariadb", marks=pytest.mark.mariadb)])
def url(request: pytest.FixtureRequest) -> str:
    fixture = "new_database" if request.param == "postgresql" else "new_mariadb_database"
    make: Callable[[], str] = request.getfixturevalue(fixture)
    return make()


def test_lists_keep_their_order_and_may_be_empty(url: str) -> None:
    engine = unpooled_engine(url)
    create(engine, VERSION)
    add_skewed_table(engine)
    with open_snapshot(engine, VERSION) as snapshot:
        [table] = read_tables(snapshot)
    engine.dispose()
    skew = decode(TABLE, table.data)["sd"]["skewedInfo"]
    assert skew["skewedColNames"] == ["x", "y"]
    assert skew["skewedColValues"] == [["c", "d"], [], ["b", "a"]]
    assert skew["skewedColValueLocationMaps"] == {("b", "a"): "/ba", (): "/empty"}


def add_skewed_table(engine: sa.Engine) -> None:
    add = partial(add_row, engine, VERSION)
    add("DBS", DB_ID=9, NAME="db", DB_LOCATION_URI="x", CTLG_NAME="hive")
    add("CDS", CD_ID=COLUMNS)
    add("SDS", SD_ID=STORAGE, CD_ID=COLUMNS)
    add("TBLS", TBL_ID=1, DB_ID=9, SD_ID=STORAGE, TBL_NAME="t")
    # The later place comes first.
    for place, name in ((1, "y"), (0, "x")):
        add("SKEWED_COL_NAMES", SD_ID=STORAGE, INTEGER_IDX=place, SKEWED_COL_NAME=name)
    for list_, values in LISTS.items():
        add("SKEWED_STRING_LIST", STRING_LIST_ID=list_)
        for place, value in reversed([*enumerate(values)]):
            row = {"STRING_LIST_ID": list_, "INTEGER_IDX": place, "STRING_LIST_VALUE": value}
            add("SKEWED_STRING_LIST_VALUES", **row)
    for place, list_ in enumerate(reversed(LISTS)):
        row = {"SD_ID_OID": STORAGE, "INTEGER_IDX": place, "STRING_LIST_ID_EID": list_}
        add("SKEWED_VALUES", **row)
    for list_, location in ((11, "/ba"), (12, "/empty")):
        row = {"SD_ID": STORAGE, "STRING_LIST_ID_KID": list_, "LOCATION": location}
        add("SKEWED_COL_VALUE_LOC_MAP", **row)
