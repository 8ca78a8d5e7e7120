"""What the doctor says of a real database with our schema."""

import time
from collections.abc import Callable, Iterable
from typing import Any

import pytest
from sqlalchemy import Engine, delete, insert, make_url, update

from hive.reader.engines import unpooled_engine
from hive.schema import Version, create, metadata
from metatide.doctor import Status, Target, database, log, metastore
from metatide.doctor.finding import ok
from metatide.stack.machine import LOOPBACK, free_port
from tests.support.databases.stock_postgres import NewStockDatabase


@pytest.fixture
def version() -> Version:
    return Version.V4_1


every_version = pytest.mark.parametrize("version", [one for one in Version if one >= Version.V4_0])


@pytest.fixture
def target(new_database: Callable[[], str]) -> Target:
    return Target(None, "metatide", 16, new_database(), None)


@pytest.mark.stock
@pytest.mark.parametrize(
    ("collation", "detail"),
    [
        ("C", "C, by bytes"),
        (
            "en-US",
            "en-US sorts partitions in its own way; where that counts, the Thrift server leaves "
            "them to the metastore",
        ),
    ],
)
def test_it_tells_how_names_are_sorted(
    new_stock_database: NewStockDatabase, version: Version, collation: str, detail: str
) -> None:
    target = Target(None, "metatide", 16, new_stock_database(collation), None)
    create(engine_of(target), version)
    assert database.collation(target) == ok(detail)


@pytest.mark.mariadb
def test_it_complains_of_names_that_are_compared_loosely(
    new_mariadb_database: Callable[[], str], version: Version
) -> None:
    target = Target(None, "metatide", 16, new_mariadb_database(), None)
    engine = engine_of(target)
    create(engine, version)
    assert database.collation(target) == ok(
        "latin1_bin sorts partitions in its own way; where that counts, the Thrift server leaves "
        "them to the metastore"
    )
    loose = "varchar(767) COLLATE latin1_swedish_ci"
    with engine.begin() as connection:
        connection.exec_driver_sql(f"ALTER TABLE PARTITIONS MODIFY PART_NAME {loose}")
    finding = database.collation(target)
    assert finding.status is Status.FAILED
    assert finding.detail.startswith("latin1_swedish_ci treats different partition names")


@pytest.fixture
def engine(target: Target, version: Version) -> Engine:
    made = engine_of(target)
    create(made, version)
    return made


def engine_of(target: Target) -> Engine:
    assert target.database_url is not None
    return unpooled_engine(target.database_url)


def execute(engine: Engine, version: Version, *statements: Any) -> None:
    with engine.begin() as connection:
        for statement in statements:
            connection.execute(statement)


def events(version: Version, ids: Iterable[int], **values: object) -> Any:
    row = {"EVENT_TIME": int(time.time()) - 7300, "EVENT_TYPE": "OPEN_TXN", **values}
    table = metadata(version).tables["NOTIFICATION_LOG"]
    return insert(table).values([{"NL_ID": one, "EVENT_ID": one} | row for one in ids])


def next_id(version: Version, number: int) -> Any:
    return update(metadata(version).tables["NOTIFICATION_SEQUENCE"]).values(NEXT_EVENT_ID=number)


def test_a_database_that_answers_is_fine_and_its_password_hidden(target: Target) -> None:
    finding = database.reachable(target)
    assert finding.status is Status.OK
    assert target.database_url is not None
    password = make_url(target.database_url).password
    assert password is None or password not in finding.detail


def test_a_replica_is_no_primary(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(database._REPLICA, "postgresql", "SELECT TRUE")
    finding = database.reachable(target)
    assert (finding.status, finding.remedy) == (Status.FAILED, "name the primary in database.url")


def test_a_database_that_does_not_answer_is_named() -> None:
    port = free_port()
    url = f"postgresql://tide:pool@{LOOPBACK}:{port}/metastore"
    finding = database.reachable(Target(None, "metatide", 16, url, None))
    assert finding.status is Status.FAILED
    assert finding.detail.startswith(
        f"postgresql://tide:***@{LOOPBACK}:{port}/metastore does not answer: "
    )
    assert "pool" not in finding.detail
    assert database.reachable(Target(None, "metatide", 16, None, None)).status is Status.FAILED


def test_secrets_among_the_options_of_the_url_are_hidden() -> None:
    url = f"postgresql://tide@{LOOPBACK}:{free_port()}/metastore?password=hush&sslpassword=hush"
    finding = database.reachable(Target(None, "t", 1, url, None))
    assert "/metastore?password=***&sslpassword=*** does not answer" in finding.detail


def test_an_empty_database_has_no_schema(target: Target) -> None:
    assert database.schema(target).status is Status.FAILED


@every_version
def test_each_schema_that_we_know_is_told(engine: Engine, target: Target, version: Version) -> None:
    assert database.schema(target).detail == f"as of Hive {version.release}"
    strange = update(metadata(version).tables["VERSION"]).values(SCHEMA_VERSION="2.3.0")
    execute(engine, version, strange)
    finding = database.schema(target)
    assert finding.status is Status.FAILED
    assert "2.3.0" in finding.detail


def test_a_schema_whose_metastore_leaves_events_out_is_refused(target: Target) -> None:
    create(engine_of(target), Version.V3_1)
    finding = database.schema(target)
    assert finding.status is Status.FAILED
    assert "Hive 3.1.0" in finding.detail


def test_a_log_without_events_is_whole(engine: Engine, target: Target, version: Version) -> None:
    assert log.complete(target).detail == "empty, at event 0"
    execute(engine, version, next_id(version, 8))
    assert log.complete(target).detail == "empty, at event 7"


@every_version
def test_a_whole_log_is_fine(engine: Engine, target: Target, version: Version) -> None:
    execute(engine, version, events(version, range(3, 8)), next_id(version, 8))
    finding = log.complete(target)
    assert finding.status is Status.OK
    assert finding.detail == "events 3 to 7 without a gap, the oldest 2 h old"


@pytest.mark.parametrize(
    ("ids", "following", "detail"),
    [
        ([1, 2, 5, 6], 7, "2 of the events 1 to 6 are missing"),
        ([1, 2, 3], 7, "the newest row is event 3, but NOTIFICATION_SEQUENCE says 6"),
        ([1, 2, 3], 2, "the newest row is event 3, but NOTIFICATION_SEQUENCE says 1"),
    ],
)
def test_a_log_with_a_fault_is_refused(
    engine: Engine, target: Target, version: Version, ids: list[int], following: int, detail: str
) -> None:
    execute(engine, version, events(version, ids), next_id(version, following))
    finding = log.complete(target)
    assert (finding.status, finding.detail) == (Status.FAILED, detail)


def test_events_that_occur_twice_are_told(engine: Engine, target: Target, version: Version) -> None:
    with engine.begin() as connection:
        connection.exec_driver_sql('DROP INDEX "NOTIFICATION_LOG_EVENT_ID"')
    again = events(version, [4], NL_ID=9)
    execute(engine, version, events(version, range(3, 6)), again, next_id(version, 6))
    finding = log.complete(target)
    assert (finding.status, finding.detail) == (Status.FAILED, "1 event ids occur twice")


def test_a_missing_sequence_is_refused(engine: Engine, target: Target, version: Version) -> None:
    execute(engine, version, delete(metadata(version).tables["NOTIFICATION_SEQUENCE"]))
    assert log.complete(target).detail == "NOTIFICATION_SEQUENCE has 0 rows instead of one"


@every_version
@pytest.mark.parametrize("together", [True, False])
def test_one_transaction_is_seen_by_the_writer_of_the_rows(
    engine: Engine, target: Target, version: Version, together: bool
) -> None:
    tables = metadata(version).tables
    sequence = {"DB_ID": 1, "NAME": "lake", "CTLG_NAME": "hive", "DB_LOCATION_URI": "file:/lake"}
    execute(engine, version, insert(tables["DBS"]).values(sequence))
    assert metastore.one_transaction(target).status is Status.UNCHECKED
    row = {"TBL_ID": 1, "DB_ID": 1, "TBL_NAME": "t", "CREATE_TIME": 0, "LAST_ACCESS_TIME": 0}
    row |= {"RETENTION": 0, "IS_REWRITE_ENABLED": False}
    change = insert(tables["TBLS"]).values(row)
    event = events(version, [1], EVENT_TYPE="CREATE_TABLE", DB_NAME="lake", TBL_NAME="t")
    if together:
        execute(engine, version, change, event)
    else:
        execute(engine, version, change)
        execute(engine, version, event)
    expected = Status.OK if together else Status.UNCHECKED
    assert metastore.one_transaction(target).status is expected
