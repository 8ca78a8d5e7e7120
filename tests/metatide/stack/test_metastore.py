"""A real metastore of Hive 4.2 works on the schema that we describe."""

import base64
import gzip
import json
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from hive.errors import InputError
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create, insert_warehouse, metadata
from metatide.stack.metastore import MessageFormat, Metastore, Settings
from metatide.stack.ports import Ports
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.hms_state import state
from tests.support.hive.hms_transactions import NONE_OPEN
from tests.support.hive.metastore import Instances, MetastoreFactory

pytestmark = [pytest.mark.hive, pytest.mark.by_turns(2, of="stacks")]
COLUMNS = {"id": "bigint", "v": "string"}
RECORDED = Path(__file__).parents[2] / "data" / "hive-4.2.0" / "every-event-json"
KEYS = {"ds": "string", "hr": "int"}


@pytest.fixture(
    params=["metastore", pytest.param("mariadb_metastore", marks=pytest.mark.mariadb)],
    ids=["postgresql", "mariadb"],
)
def client(request: pytest.FixtureRequest) -> Iterator[HmsClient]:
    running: Instances = request.getfixturevalue(request.param)
    with running.connect() as client:
        yield client


def log(database_url: str) -> list[dict[str, Any]]:
    """The rows of NOTIFICATION_LOG, in their order."""
    rows = metadata(Version.V4_1).tables["NOTIFICATION_LOG"]
    with unpooled_engine(database_url).connect() as connection:
        found = connection.execute(sa.select(rows).order_by(rows.c.EVENT_ID))
        return [dict(row) for row in found.mappings()]


def use(client: HmsClient, database: str) -> None:
    """A table with partitions, written by one transaction that commits and one that aborts."""
    client.create_database(database)
    table = client.create_table(objects.table(database, "events", COLUMNS, KEYS))
    for finish in (client.commit, client.abort):
        transaction = client.open_transaction()
        write_id = client.allocate_write_id(transaction, database, "events")
        client.add_partitions(table, [["2026-01-01", str(write_id)]], write_id=write_id)
        finish(transaction)


USED = [
    "CREATE_DATABASE",
    "CREATE_TABLE",
    *["OPEN_TXN", "ALLOC_WRITE_ID_EVENT", "ADD_PARTITION", "COMMIT_TXN"],
    *["OPEN_TXN", "ALLOC_WRITE_ID_EVENT", "ADD_PARTITION", "ABORT_TXN"],
]


def message(row: dict[str, Any]) -> dict[str, Any]:
    text = row["MESSAGE"]
    if row["MESSAGE_FORMAT"] == "gzip(json-2.0)":
        text = gzip.decompress(base64.b64decode(text))
    parsed: dict[str, Any] = json.loads(text)
    return parsed


@pytest.mark.parametrize(("format_", "stored"), [("json", "json-0.2"), ("gzip", "gzip(json-2.0)")])
def test_what_is_done_appears_in_the_log(
    metastore_factory: MetastoreFactory, format_: MessageFormat, stored: str
) -> None:
    running = metastore_factory(message_format=format_)
    with running.connect() as client:
        use(client, "shop")
        assert client.valid_write_ids("shop", "events") == f"shop.events:2:{NONE_OPEN}::2"
    rows = log(running.database_url)
    assert [row["EVENT_TYPE"] for row in rows] == USED
    assert [row["EVENT_ID"] for row in rows] == list(range(1, len(USED) + 1))
    assert {row["MESSAGE_FORMAT"] for row in rows} == {stored}
    commit = message(rows[USED.index("COMMIT_TXN")])
    assert (commit["txnid"], commit["writeIds"], commit["databases"]) == (1, [1], ["shop"])


def test_two_instances_share_a_database(metastore_factory: MetastoreFactory) -> None:
    running = metastore_factory(instances=2)
    with running.connect(0) as first, running.connect(1) as other:
        use(first, "shop")
        use(other, "bank")
        # Metastores clean up every ten seconds: an aborted transaction that wrote nothing may go.
        answers = [state(client) for client in (first, other, first)]
    assert answers[1] in (answers[0], answers[2])
    assert set(answers[0]["tables"]) == {"shop.events", "bank.events"}
    ids = [row["EVENT_ID"] for row in log(running.database_url)]
    assert ids == list(range(1, 2 * len(USED) + 1))


def test_an_instance_that_was_killed_leaves_the_other_at_work(
    metastore_factory: MetastoreFactory,
) -> None:
    running = metastore_factory(instances=2)
    running.processes[0].kill()
    running.processes[0].wait()
    with running.connect(1) as client:
        use(client, "shop")
    assert len(log(running.database_url)) == len(USED)


def test_the_cached_store_answers(metastore_factory: MetastoreFactory) -> None:
    running = metastore_factory(cached_store=True)
    with running.connect() as client:
        use(client, "shop")
        assert set(state(client)["tables"]) == {"shop.events"}


def test_it_keeps_statistics_constraints_and_functions(client: HmsClient) -> None:
    client.create_database("figures")
    table = client.create_table(
        objects.table("figures", "plain", COLUMNS, KEYS, transactional=False)
    )
    client.add_partitions(table, [["a=b/c", "1"]])
    client.update_statistics(table, [objects.long_statistics("id", numNulls=3)])
    name = "ds=a%3Db%2Fc/hr=1"
    client.update_statistics(table, [objects.long_statistics("id", numDVs=7)], partition=name)
    client.add_not_null(table, "id", "id_is_there")
    client.create_function("figures", "f", "org.example.F")
    tables = state(client)
    (of_table,) = tables["table_statistics"]["figures.plain"]
    assert of_table["statsData"]["longStats"] == {"numNulls": 3, "numDVs": 1}
    ((at, (of_partition,)),) = tables["partition_statistics"]["figures.plain"].items()
    assert (at, of_partition["statsData"]["longStats"]["numDVs"]) == (name, 7)
    assert tables["constraints"]["figures.plain"]["not_null"][0]["nn_name"] == "id_is_there"
    assert tables["functions"]["figures.f"]["className"] == "org.example.F"
    client.drop_constraint(table, "id_is_there")
    assert "figures.plain" not in state(client)["constraints"]


def test_it_alters_renames_and_drops(client: HmsClient) -> None:
    client.create_database("changes")
    table = client.create_table(objects.table("changes", "t", COLUMNS, KEYS, transactional=False))
    client.add_partitions(table, [["x", "1"], ["x", "2"]])
    changed = client.partitions("changes", "t")
    for partition in changed:
        partition.parameters["note"] = "new"
    client.alter_partitions(table, changed)
    client.rename_partition(table, ["x", "2"], objects.partition(table, ["y", "2"]))
    table.sd.cols.append(client.t.FieldSchema(name="more", type="int", comment=""))
    client.alter_table("changes", "t", table, cascade=True)
    client.truncate("changes", "t")
    partitions = state(client)["partitions"]["changes.t"]
    assert set(partitions) == {"ds=x/hr=1", "ds=y/hr=2"}
    assert partitions["ds=x/hr=1"]["parameters"]["note"] == "new"
    assert [column["name"] for column in partitions["ds=x/hr=1"]["sd"]["cols"]] == [
        "id",
        "v",
        "more",
    ]
    table.tableName = "u"
    client.alter_table("changes", "t", table)
    assert list(client.rpc.get_all_tables("changes")) == ["u"]
    client.rpc.drop_partition("changes", "u", ["x", "1"], False)
    client.rpc.drop_table("changes", "u", False)
    client.rpc.drop_database("changes", False, True)
    assert "changes" not in client.rpc.get_all_databases()


def test_a_transaction_sees_what_was_committed_before_it(client: HmsClient) -> None:
    client.create_database("sights")
    client.create_table(objects.table("sights", "t", COLUMNS))
    reader = client.open_transaction(client.t.TxnType.READ_ONLY)
    writer = client.open_transaction()
    client.allocate_write_id(writer, "sights", "t")
    before = client.valid_transactions(reader)
    assert before.startswith(f"{reader}:")
    client.commit(writer)
    assert client.valid_write_ids("sights", "t", before) == "sights.t:1:1:1:"
    assert client.valid_write_ids("sights", "t") == f"sights.t:1:{NONE_OPEN}::"
    client.commit(reader)


def test_it_keeps_transactional_partitions(client: HmsClient) -> None:
    use(client, "kept")
    found = state(client)
    assert found["valid_write_ids"]["kept.events"] == f"kept.events:2:{NONE_OPEN}::2"
    assert set(found["partitions"]["kept.events"]) == {"ds=2026-01-01/hr=1", "ds=2026-01-01/hr=2"}


def test_its_answers_have_the_shape_of_the_recorded_ones(client: HmsClient) -> None:
    use(client, "shaped")
    tables = state(client)
    recorded = json.loads((RECORDED / "state.json").read_text())
    assert tables.keys() == recorded.keys()
    assert tables["databases"]["default"].keys() == recorded["databases"]["default"].keys()
    assert tables["tables"]["shaped.events"].keys() == recorded["tables"]["w1.acid"].keys()
    (ours, *_), (theirs, *_) = (
        [*every["partitions"][name].values()]
        for every, name in ((tables, "shaped.events"), (recorded, "w1.acid"))
    )
    assert ours.keys() == theirs.keys()
    assert ours["sd"].keys() == theirs["sd"].keys()


def test_it_locks_and_queues_compactions(client: HmsClient) -> None:
    t = client.t
    client.create_database("chores")
    client.create_table(objects.table("chores", "t", COLUMNS))
    transaction = client.open_transaction()
    component = t.LockComponent(
        type=t.LockType.SHARED_READ, level=t.LockLevel.TABLE, dbname="chores", tablename="t"
    )
    lock = client.rpc.lock(
        t.LockRequest(component=[component], txnid=transaction, user="hive", hostname="here")
    )
    assert lock.state == t.LockState.ACQUIRED
    client.commit(transaction)
    request = t.CompactionRequest(dbname="chores", tablename="t", type=t.CompactionType.MAJOR)
    assert client.rpc.compact2(request).state == "initiated"
    shown = client.rpc.show_compact(t.ShowCompactRequest()).compacts
    assert [(one.dbname, one.tablename) for one in shown] == [("chores", "t")]


def test_a_forgotten_transaction_is_aborted(metastore_factory: MetastoreFactory) -> None:
    quick = {"metastore.txn.timeout": "1s", "metastore.acid.housekeeper.interval": "1s"}
    with metastore_factory(properties=quick).connect() as client:
        transaction = client.open_transaction()
        deadline = time.monotonic() + 60
        while client.position() < 2:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert [event.eventType for event in client.events()] == ["OPEN_TXN", "ABORT_TXN"]
        with pytest.raises(client.t.TxnAbortedException):
            client.commit(transaction)


def test_events_come_by_thrift_too(client: HmsClient) -> None:
    after = client.position()
    client.create_database("thrifty")
    (event,) = client.events(after)
    assert (event.eventId, event.eventType, event.dbName) == (
        after + 1,
        "CREATE_DATABASE",
        "thrifty",
    )


def test_the_schema_is_all_that_it_needs(metastore: Instances) -> None:
    with unpooled_engine(metastore.database_url).connect() as connection:
        tables = set(sa.inspect(connection).get_table_names())
    assert tables == set(metadata(Version.V4_1).tables)


def test_another_shape_is_refused(new_database: Callable[[], str], tmp_path: Path) -> None:
    url = new_database()
    create(unpooled_engine(url), Version.V4_0)
    settings = Settings(sa.make_url(url), tmp_path / "warehouse")
    metastore = Metastore(tmp_path / "metastore", Ports(tmp_path / "ports.json"), settings)
    with pytest.raises(InputError, match=r"holds a metastore of Hive 4\.0\.0"):
        metastore.prepare()


def test_the_password_is_nobody_elses(new_database: Callable[[], str], tmp_path: Path) -> None:
    url = sa.make_url(new_database())
    settings = Settings(url, tmp_path / "warehouse", properties={"a.b": "<&>"})
    metastore = Metastore(tmp_path / "metastore", Ports(tmp_path / "ports.json"), settings)
    launch = metastore.prepare()
    site = tmp_path / "metastore" / "metastore-site.xml"
    assert site.stat().st_mode & 0o077 == 0
    assert "<name>a.b</name><value>&lt;&amp;&gt;</value>" in site.read_text()
    assert url.password is not None
    assert url.password not in " ".join([*launch.argv, *launch.environment.values()])
    java = subprocess.run([launch.argv[0], "-version"], capture_output=True, text=True, check=True)
    assert 'version "21' in java.stderr


def first_objects(database_url: str) -> list[dict[str, Any]]:
    """The catalog `hive` and the database `default`, without the time of their creation."""
    tables = metadata(Version.V4_1).tables
    catalogs, databases = tables["CTLGS"], tables["DBS"]
    queries = (
        sa.select(catalogs).where(catalogs.c.NAME == "hive"),
        sa.select(databases).where(databases.c.NAME == "default"),
    )
    with unpooled_engine(database_url).connect() as connection:
        rows = [dict(connection.execute(query).mappings().one()) for query in queries]
    return [{**row, "CREATE_TIME": None} for row in rows]


def test_the_first_metastore_inserts_what_we_do(
    metastore: Instances, new_database: Callable[[], str]
) -> None:
    catalog, default = first_objects(metastore.database_url)
    url = new_database()
    engine = unpooled_engine(url)
    create(engine, Version.V4_1)
    urls = catalog["LOCATION_URI"], default["DB_LOCATION_URI"]
    insert_warehouse(engine, Version.V4_1, *urls)
    assert first_objects(url) == [catalog, default]
