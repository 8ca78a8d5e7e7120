"""What remains of texts in columns that can't hold all characters."""

import json
from collections.abc import Callable

import pytest
import sqlalchemy as sa

from hive.events.decode import decode
from hive.events.envelope import GZIP, PLAIN, seal_message
from hive.events.event_types import CreateDatabase
from hive.events.kept_characters import LATIN1, UTF8MB3, Lacked, as_kept, lacked
from hive.events.row import NotificationRow
from hive.reader.engines import unpooled_engine
from hive.thrift import binary
from hive.thrift.structs import DATABASE
from hive.thrift.tjson import dumps

# Without halves of surrogate pairs, which no text has.
CHARACTERS = [chr(code) for code in (*range(1, 0xD800), 0xE000, 0xFFFD, 0x10000, 0x1F600)]


@pytest.mark.parametrize(
    ("charsets", "pattern"),
    [
        ((), None),
        (("latin1",), LATIN1),
        (("utf8mb3", "latin1"), UTF8MB3),
        (("utf8",), UTF8MB3),
        (("latin1", "utf8mb4"), None),
        (("latin1", "gbk"), None),
    ],
)
def test_only_what_no_column_holds_is_lacked(
    charsets: tuple[str, ...], pattern: Lacked | None
) -> None:
    assert lacked(charsets) is pattern


@pytest.mark.parametrize("format_", [PLAIN, GZIP])
def test_an_event_shows_what_was_stored(format_: str) -> None:
    database = {"name": "db", "description": "é€漢😀", "parameters": {"漢": "字"}}
    fields = {"db": "db", "dbJson": dumps(DATABASE, database)}
    message = seal_message(json.dumps(fields, ensure_ascii=False).encode(), format_)
    row = NotificationRow(1, 0, "CREATE_DATABASE", "hive", "db", None, message, format_)
    event = decode(row, lacked=LATIN1)
    assert isinstance(event, CreateDatabase)
    stored = binary.decode(DATABASE, event.data)
    assert (stored["description"], stored["parameters"]) == ("é€??", {"?": "?"})


@pytest.mark.mariadb
@pytest.mark.parametrize(("charset", "pattern"), [("latin1", LATIN1), ("utf8mb3", UTF8MB3)])
def test_mariadb_stores_the_same(
    new_mariadb_database: Callable[[], str], charset: str, pattern: Lacked
) -> None:
    engine = unpooled_engine(new_mariadb_database())
    with engine.begin() as connection:
        connection.execute(sa.text("SET SESSION sql_mode = 'ANSI_QUOTES'"))
        connection.execute(sa.text(f"CREATE TABLE t (t LONGTEXT CHARACTER SET {charset})"))
        connection.execute(sa.text("INSERT INTO t VALUES (:t)"), {"t": "".join(CHARACTERS)})
        stored = connection.scalar(sa.text("SELECT t FROM t"))
    engine.dispose()
    assert stored == as_kept("".join(CHARACTERS), pattern)
