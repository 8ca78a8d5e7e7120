"""Why metastores of Hive 3 are refused, and that they are, before anything of them is used."""

import asyncio
from collections.abc import Callable, Iterator

import pytest

from connectors.loads.batch import find_database
from connectors.log.sql_source import SqlSource
from hive.errors import InputError
from hive.reader.engines import unpooled_engine
from metatide.config import load as load_config
from metatide.doctor import Status, Target, database
from metatide.worker.read_settings import open_primary, read_settings
from tests.support.hive import hms_objects as objects
from tests.support.hive import matrix
from tests.support.hive.metastore import Instances

_OLD = [row for row in matrix.ROWS if row not in matrix.FOLLOWED]
# By the driver of MariaDB it doesn't see there the database that it has just made.
_WRITABLE = [row for row in _OLD if row.database != "MariaDB"]


@pytest.fixture(scope="module", params=matrix.parameters(_OLD))
def instances(request: pytest.FixtureRequest) -> Iterator[Instances]:
    with matrix.running(request, request.param) as found:
        yield found


@pytest.mark.parametrize("instances", matrix.parameters(_WRITABLE), indirect=True)
def test_statistics_change_a_table_without_an_event(instances: Instances) -> None:
    with instances.connect(0) as client, instances.connect(1) as other:
        client.create_database("old")
        table = client.create_table(
            objects.table("old", "t", {"id": "bigint"}, transactional=False)
        )
        position = client.position()
        other.update_statistics(table, [objects.long_statistics("id")])
        changed = client.table("old", "t")
        assert client.position() == position
        assert changed.parameters != table.parameters


def connect(url: str) -> None:
    SqlSource(unpooled_engine(url)).bounds(0)


def load(url: str) -> None:
    find_database(unpooled_engine(url))


def serve(url: str) -> None:
    config = load_config(environ={"METATIDE_DATABASE_URL": url}).config
    primary = open_primary(config)
    assert primary is not None
    try:
        read_settings(config, primary)
    finally:
        asyncio.run(primary.close())


@pytest.mark.parametrize("part", [connect, load, serve])
def test_no_part_follows_it(instances: Instances, part: Callable[[str], None]) -> None:
    with pytest.raises(InputError, match=r"is of Hive 3\.1\.0, whose log leaves out updates"):
        part(instances.database_url)


def test_the_doctor_says_so(instances: Instances) -> None:
    finding = database.schema(Target(None, "metatide", 16, instances.database_url, None))
    assert finding.status is Status.FAILED
    assert "4.0 and later" in f"{finding.detail} {finding.remedy}"
