"""Changes as SQL, for both kinds of database."""

import json

import pytest

from hive.reader.engines import unpooled_engine
from hive.schema import Version, metadata
from metatide.demo.changes import Change, Compiler, Delete, Insert, Move, Update

ROWS = [{"SD_ID": 1, "LOCATION": "a"}, {"SD_ID": 2, "LOCATION": "b"}]
POSTGRES = Compiler(metadata(Version.V4_1), unpooled_engine("postgresql://host/db").dialect)
MYSQL = Compiler(metadata(Version.V4_1), unpooled_engine("mysql://host/db").dialect)


@pytest.mark.parametrize(
    "change", [Insert("SDS", ROWS), Update("SDS", ("SD_ID",), ROWS), Delete("SDS", ROWS)]
)
def test_postgresql_takes_many_rows_at_once_as_json(change: Change) -> None:
    text, parameters = POSTGRES.compile(change)
    assert "json_to_recordset(" in text
    assert [json.loads(each["rows"]) for each in parameters] == [ROWS]


def test_a_value_that_is_too_long_is_refused_not_cut() -> None:
    text, _ = POSTGRES.compile(Insert("SDS", ROWS))
    assert "VARCHAR(" not in text


def test_mysql_takes_a_row_at_a_time() -> None:
    text, parameters = MYSQL.compile(Update("SDS", ("SD_ID",), ROWS))
    assert text == "UPDATE `SDS` SET `LOCATION`=%(LOCATION)s WHERE `SDS`.`SD_ID` = %(SD_ID)s"
    assert parameters == ROWS


def test_a_move_finds_rows_by_the_columns_that_it_changes() -> None:
    move = Move("NEXT_WRITE_ID", {"NWI_TABLE": "old"}, {"NWI_TABLE": "new"})
    text, parameters = MYSQL.compile(move)
    assert "SET `NWI_TABLE`=%(NWI_TABLE)s" in text
    assert text.endswith("WHERE `NEXT_WRITE_ID`.`NWI_TABLE` = %(old_NWI_TABLE)s")
    assert parameters == [{"NWI_TABLE": "new", "old_NWI_TABLE": "old"}]
