"""What we describe can be made on both databases, and is told apart again."""

from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa

from hive.errors import InputError, SourceError
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create, detect, metadata, require_followed


@pytest.fixture(params=["postgresql", pytest.param("mysql", marks=pytest.mark.mariadb)])
def engine(request: pytest.FixtureRequest) -> sa.Engine:
    fixture = "new_database" if request.param == "postgresql" else "new_mariadb_database"
    new: Callable[[], str] = request.getfixturevalue(fixture)
    return unpooled_engine(new())


def rows(connection: sa.Connection, version: Version, table: str) -> list[dict[str, Any]]:
    found = connection.execute(sa.select(metadata(version).tables[table])).mappings()
    return [dict(row) for row in found]


@pytest.mark.parametrize("version", Version)
def test_a_new_schema_holds_what_a_metastore_expects(engine: sa.Engine, version: Version) -> None:
    create(engine, version)
    with engine.connect() as connection:
        assert detect(connection) is version
        assert rows(connection, version, "NOTIFICATION_SEQUENCE") == [
            {"NNI_ID": 1, "NEXT_EVENT_ID": 1}
        ]
        assert [row["NAME"] for row in rows(connection, version, "CTLGS")] == ["hive"]
        if version is Version.V3_1:
            assert rows(connection, version, "NEXT_TXN_ID") == [{"NTXN_NEXT": 1}]
            assert rows(connection, version, "TXNS") == []
        else:
            assert [
                (row["TXN_ID"], row["TXN_STATE"]) for row in rows(connection, version, "TXNS")
            ] == [(0, "c")]


def test_the_database_counts_transactions_from_one(engine: sa.Engine) -> None:
    create(engine, Version.V4_1)
    transactions = metadata(Version.V4_1).tables["TXNS"]
    row = {
        "TXN_STATE": "o",
        "TXN_STARTED": 1,
        "TXN_LAST_HEARTBEAT": 1,
        "TXN_USER": "",
        "TXN_HOST": "",
    }
    with engine.begin() as connection:
        ids = [
            connection.execute(sa.insert(transactions).values(row)).inserted_primary_key
            for _ in range(2)
        ]
    assert [tuple(id_ or ()) for id_ in ids] == [(1,), (2,)]


def test_flags_come_back_as_booleans(engine: sa.Engine) -> None:
    create(engine, Version.V4_1)
    storage = metadata(Version.V4_1).tables["SDS"]
    with engine.begin() as connection:
        for id_, flag in ((1, True), (2, False)):
            connection.execute(
                sa.insert(storage).values(
                    SD_ID=id_,
                    IS_COMPRESSED=flag,
                    IS_STOREDASSUBDIRECTORIES=not flag,
                    NUM_BUCKETS=-1,
                )
            )
        column_rows = connection.execute(
            sa.select(storage.c.IS_COMPRESSED, storage.c.IS_STOREDASSUBDIRECTORIES).order_by(
                storage.c.SD_ID
            )
        ).all()
        assert [tuple(row) for row in column_rows] == [(True, False), (False, True)]
        compressed = sa.select(storage.c.SD_ID).where(storage.c.IS_COMPRESSED == sa.true())
        assert connection.scalars(compressed).all() == [1]


def test_names_differ_by_case(engine: sa.Engine) -> None:
    create(engine, Version.V4_1)
    databases = metadata(Version.V4_1).tables["DBS"]
    with engine.begin() as connection:
        for id_, name in enumerate(["a", "A"], start=1):
            connection.execute(
                sa.insert(databases).values(DB_ID=id_, NAME=name, DB_LOCATION_URI="x")
            )
        named = sa.select(databases.c.DB_ID).where(databases.c.NAME == "A")
        assert connection.scalars(named).all() == [2]


def test_a_database_with_tables_is_left_alone(engine: sa.Engine) -> None:
    with engine.begin() as connection:
        connection.execute(sa.text("CREATE TABLE mine (id int)"))
    with pytest.raises(InputError, match="holds tables already"):
        create(engine, Version.V4_1)
    with engine.connect() as connection:
        assert sa.inspect(connection).get_table_names() == ["mine"]
        assert detect(connection) is None


def test_a_schema_made_half_is_refused(engine: sa.Engine) -> None:
    create(engine, Version.V4_0)
    with engine.begin() as connection:
        connection.execute(sa.delete(metadata(Version.V4_0).tables["VERSION"]))
        with pytest.raises(InputError, match="VERSION"):
            detect(connection)


def test_a_database_of_something_else_is_named(engine: sa.Engine) -> None:
    with (
        engine.connect() as connection,
        pytest.raises(SourceError, match=f"{engine.url.database} has no metastore's tables"),
    ):
        require_followed(connection)
    create(engine, Version.V4_1)
    with engine.connect() as connection:
        assert require_followed(connection) is Version.V4_1
