"""What the reader gives is what a real Hive 4.2 metastore answers, field by field."""

import time
from collections.abc import Iterator
from typing import Any

import pytest
import sqlalchemy as sa

from hive.names import DatabaseName
from hive.reader.engines import unpooled_engine
from hive.reader.partitions import (
    partition_names,
    partition_values,
    read_named_partitions,
)
from hive.reader.snapshot import DatabaseSnapshot, open_snapshot
from hive.reader.tables import named, read_named_tables, stream_names
from hive.schema import detect
from hive.thrift.binary import decode
from hive.thrift.structs import PARTITION
from tests.hive.reader import script
from tests.hive.reader.answers import expected, read_state
from tests.support.hive import hms_state
from tests.support.hive.idl import plain
from tests.support.hive.metastore import Instances

DATABASES = [
    pytest.param("metastore", marks=pytest.mark.hive),
    pytest.param("mariadb_metastore", marks=[pytest.mark.hive, pytest.mark.mariadb]),
]


@pytest.fixture(scope="module", params=DATABASES)
def instances(request: pytest.FixtureRequest) -> Instances:
    found: Instances = request.getfixturevalue(request.param)
    with found.connect() as client:
        script.run(client, "reader")
    return found


@pytest.fixture(scope="module")
def engine(instances: Instances) -> Iterator[sa.Engine]:
    engine = unpooled_engine(instances.database_url)
    yield engine
    engine.dispose()


@pytest.fixture
def snapshot(engine: sa.Engine) -> Iterator[DatabaseSnapshot]:
    with engine.connect() as connection:
        version = detect(connection)
    assert version is not None
    with open_snapshot(engine, version) as snapshot:
        yield snapshot


def own(kind: dict[str, Any]) -> dict[str, Any]:
    """What the script made: other tests use the same metastore."""
    return {name: one for name, one in kind.items() if name.startswith("reader")}


def unordered(kind: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {what: sorted(found, key=str) for what, found in kinds.items()}
        for name, kinds in kind.items()
    }


@pytest.mark.parametrize(
    "kind",
    [
        "databases",
        "tables",
        "partitions",
        "table_statistics",
        "partition_statistics",
        "constraints",
        "functions",
        "valid_write_ids",
    ],
)
def test_the_reader_gives_what_the_metastore_answers(
    instances: Instances, snapshot: DatabaseSnapshot, kind: str
) -> None:
    with instances.connect() as client:
        answered = own(expected(hms_state.state(client))[kind])
    rows = own(read_state(snapshot)[kind])
    assert answered
    if kind == "constraints":
        answered, rows = unordered(answered), unordered(rows)
    if kind == "table_statistics":
        answered = {n: sorted(c, key=lambda one: one["colName"]) for n, c in answered.items()}
    if kind == "partition_statistics":
        answered = {
            name: {p: sorted(c, key=lambda one: one["colName"]) for p, c in partitions.items()}
            for name, partitions in answered.items()
        }
    assert rows == answered


def test_some_partitions_are_found_as_the_metastore_finds_them(
    instances: Instances, snapshot: DatabaseSnapshot
) -> None:
    with instances.connect() as client:
        answered = {
            name: [
                plain(one) for one in client.rpc.get_partitions_by_names("reader", "acid", [name])
            ]
            for name in client.rpc.get_partition_names("reader", "acid", -1)
        }
        in_us = client.rpc.get_partition_names_ps("reader", "acid", ["", "us"], -1)
    assert len(answered) == 3
    (table,) = read_named_tables(snapshot, DatabaseName("hive", "reader"), ["acid", "none"])
    for name, partitions in answered.items():
        single = read_named_partitions(snapshot, table.name, table.id, [name, "none"])
        assert [plain(decode(PARTITION, one.data)) for one in single] == expected(partitions)
        values = partition_values(snapshot, *single[0].values)
        assert partition_names(snapshot, table.id, *values) == [name]
    assert partition_names(snapshot, table.id) == list(answered)
    of_us = partition_values(snapshot, None, "us")
    assert partition_names(snapshot, table.id, *of_us) == list(in_us)
    names = list(answered)
    in_order = read_named_partitions(snapshot, table.name, table.id, names[::-1])
    assert [partition.name for partition in in_order] == names


def test_names_are_listed_with_what_lists_show(snapshot: DatabaseSnapshot) -> None:
    pages = list(stream_names(snapshot, *named(snapshot, DatabaseName("hive", "reader"))))
    names = {one.table: one for page in pages for one in page}
    assert list(names) == ["acid", "busy", "child", "external", "plain", "view"]
    assert names["external"] == ("external", "EXTERNAL_TABLE", "hive", "outside", 1)
    assert names["view"] == ("view", "VIRTUAL_VIEW", "hive", None, 1)


def test_a_snapshot_is_of_one_event(instances: Instances, snapshot: DatabaseSnapshot) -> None:
    with instances.connect() as client:
        assert snapshot.position == client.position()
        client.create_database(f"reader_later_{time.time_ns()}")
        assert client.position() == snapshot.position + 1
    later = [n for n in read_state(snapshot)["databases"] if n.startswith("reader_later")]
    assert not later
