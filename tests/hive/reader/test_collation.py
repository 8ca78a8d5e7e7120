"""That what we call certain of an order is so in real databases."""

from collections.abc import Callable, Iterator

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from hive.collation import Collation
from hive.reader.collation import of_mysql, of_postgresql, read_collation
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create
from tests.support.databases.stock_postgres import NewStockDatabase

TEXTS = st.text(st.sampled_from("abchlsyzAB019_-/= .äß€\u0308"), max_size=5)
LANGUAGES = ("en-US", "de", "cs", "da", "es", "hu", "en-US-u-kn-true")


@pytest.fixture(scope="module", params=["C", *LANGUAGES])
def connection(
    request: pytest.FixtureRequest, new_stock_database: NewStockDatabase
) -> Iterator[sa.Connection]:
    engine = unpooled_engine(new_stock_database(request.param))
    create(engine, Version.V4_1)
    with engine.connect() as connection:
        yield connection


@pytest.mark.stock
@settings(max_examples=15)
@given(texts=st.lists(st.tuples(TEXTS, TEXTS), min_size=20, max_size=60))
def test_what_is_sure_is_what_postgresql_says(
    connection: sa.Connection, texts: list[tuple[str, str]]
) -> None:
    collation = read_collation(connection)
    pairs = [pair for pair in texts if collation.is_sure(*pair)]
    ones, others = [one for one, _ in pairs], [other for _, other in pairs]
    compared = sa.text(
        "SELECT one < other FROM unnest(:ones ::text[], :others ::text[]) pairs(one, other)"
    )
    signs = connection.scalars(compared, {"ones": ones, "others": others}).all()
    assert signs == [one < other for one, other in pairs]


@pytest.mark.stock
def test_collations_of_a_database_and_of_its_columns(new_stock_database: NewStockDatabase) -> None:
    engine = unpooled_engine(new_stock_database("en-US"))
    create(engine, Version.V4_1)

    def altered(table: str, column: str, collation: str) -> Collation:
        with engine.begin() as connection:
            connection.exec_driver_sql(
                f'ALTER TABLE "{table}" ALTER COLUMN "{column}" TYPE varchar(767) '
                f'COLLATE "{collation}"'
            )
            return read_collation(connection)

    with engine.connect() as connection:
        collations = read_collation(connection)
    assert (collations.name, collations.by_bytes, collations.is_exact) == ("en-US", False, True)
    assert "a" in collations.sure
    # The weaker of the two columns counts.
    assert altered("PARTITIONS", "PART_NAME", "C") == collations
    assert altered("PARTITION_KEY_VALS", "PART_KEY_VAL", "C").by_bytes
    czech = altered("PARTITIONS", "PART_NAME", "cs-x-icu")
    assert not czech.by_bytes
    assert "1" in czech.sure
    assert "a" not in czech.sure


def test_the_embedded_database_sorts_by_bytes(new_database: Callable[[], str]) -> None:
    engine = unpooled_engine(new_database())
    create(engine, Version.V4_1)
    with engine.connect() as connection:
        assert read_collation(connection).by_bytes


@pytest.mark.mariadb
def test_columns_of_mariadb(new_mariadb_database: Callable[[], str]) -> None:
    engine = unpooled_engine(new_mariadb_database())
    create(engine, Version.V4_1)
    with engine.begin() as connection:
        assert read_collation(connection) == of_mysql("latin1_bin")
        for collation in ("utf8mb4_bin", "utf8mb4_general_ci"):
            connection.exec_driver_sql(
                "ALTER TABLE PARTITION_KEY_VALS MODIFY PART_KEY_VAL varchar(256) "
                f"COLLATE {collation}"
            )
            # The names are latin1 still.
            weaker = "latin1_bin" if collation.endswith("_bin") else collation
            assert read_collation(connection) == of_mysql(weaker)


@pytest.mark.parametrize("locale", ["colllocale", "colliculocale", "collcollate"])
def test_languages_of_icu_in_any_release_of_postgresql(locale: str) -> None:
    """Which column has the language depends on the release."""
    column = {"collprovider": "i", "collcollate": None}
    plain = of_postgresql({}, {**column, locale: "en-US"}, "UTF8")
    czech = of_postgresql({}, {**column, locale: "cs"}, "UTF8")
    assert not plain.by_bytes
    assert plain.is_sure("cg", "ch")
    assert not czech.is_sure("cg", "ch")
    changed = of_postgresql({}, {**column, locale: "en", "collicurules": "&a<b"}, "UTF8")
    assert not changed.is_sure("cg", "ch")


@pytest.mark.parametrize("of_database", [True, False])
def test_languages_of_the_c_library(of_database: bool) -> None:
    def named(name: str) -> Collation:
        if of_database:
            return of_postgresql(
                {"datcollate": name}, {"collprovider": "d", "collcollate": ""}, "UTF8"
            )
        return of_postgresql({}, {"collprovider": "c", "collcollate": name}, "UTF8")

    assert named("en_US.UTF-8").is_sure("cg", "ch")
    assert not named("en_US.UTF-8").is_sure("c", "-")
    assert not named("cs_CZ.UTF-8").is_sure("cg", "ch")
    assert named("cs_CZ.UTF-8").is_sure("c1", "c2")
    assert not named("de_DE.UTF-8@euro").is_sure("c1", "c2")
    assert named("C.UTF-8").by_bytes


def test_the_builtin_locales_of_postgresql_sort_by_bytes() -> None:
    column = {"collprovider": "b", "collcollate": None, "colllocale": "C.UTF-8"}
    assert of_postgresql({}, column, "UTF8").by_bytes
    assert not of_postgresql({}, column, "EUC_JP").by_bytes


def test_names_of_mysqls_collations() -> None:
    assert of_mysql("utf8mb4_bin").by_bytes
    assert of_mysql("utf8mb4_0900_bin").by_bytes
    latin = of_mysql("latin1_bin")
    assert latin.keeps(["A", "_", "a", "ä", "ü"])
    # Where latin1 has it, before the umlauts.
    assert not latin.is_sure("ü", "€")
    assert not of_mysql("utf8mb4_0900_ai_ci").is_exact
    assert not of_mysql("latin1_swedish_ci").keeps(["1", "2"])
    # Columns of bytes, which have no collation or one of this name.
    assert of_mysql("binary") == of_mysql(None)
    assert of_mysql(None).by_bytes
