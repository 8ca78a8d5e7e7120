"""A worker in front of a metastore that has Kerberos and authorizes by folders: what the cache
answers is what the metastore would let the user see.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from py4j.protocol import Py4JJavaError

from metatide.stack.machine import free_port
from tests.query_api.thrift.metastore.login.realm import (
    CORE,
    OWN,
    OWNER,
    HiveUsers,
    hive_users,
    realm,
)
from tests.support import local_http
from tests.support.hive.client import HiveClient
from tests.support.hive.secure_metastore import STORAGE_BASED, secure_metastore
from tests.support.kafka.kerberized import keys_in
from tests.support.locked_packages import package_folder
from tests.support.logins.kdc import HOST, REALM
from tests.support.processes import open_folder
from tests.support.secrets_in_logs import assert_untold, logs_in
from tests.support.stacks import Stack, stack

pytestmark = [
    pytest.mark.logins,
    pytest.mark.hive,
    pytest.mark.timeout(900),
    pytest.mark.by_turns(4, of="logins"),
]
DB: Final = "vault"


class Site(NamedTuple):
    """A worker and its metastore."""

    up: Stack
    worker: str
    metastore: str
    users: HiveUsers
    keytabs: Sequence[Path]

    def client(self, user: str) -> HiveClient:
        return self.users.client(user, self.worker)

    def answers(self, pattern: str) -> int:
        """How many calls were answered so, by the metrics."""
        page = local_http.get(f"{self.up.entry('worker-1').address}/metrics", timeout=30).text
        lines = re.findall(rf"^metatide_thrift_{pattern} (\S+)$", page, re.MULTILINE)
        return int(sum(map(float, lines)))

    @property
    def from_cache(self) -> int:
        return self.answers(r'answers_total\{method="get_table_req",.*source="cache"\}')

    @property
    def unauthorized(self) -> int:
        return self.answers(r'relayed_total\{method="get_table_req",reason="unauthorized"\}')


@pytest.fixture(scope="module")
def site(kafka_broker: str, new_database: Callable[[], str]) -> Iterator[Site]:
    url, port = new_database(), free_port()
    with (
        open_folder() as parent,
        realm() as own,
        secure_metastore(own.kdc, own.service, url, core=CORE, properties=STORAGE_BASED) as address,
        hive_users(own) as users,
        stack(
            parent / "data",
            *("--kafka", kafka_broker, "--upstream", address),
            *("--thrift-port", str(port)),
            METATIDE_DATABASE_URL=url,
            METATIDE_KAFKA_TOPIC="authorization",
            METATIDE_KAFKA_PARTITIONS="2",
            METATIDE_THRIFT_HOST=HOST,
            METATIDE_THRIFT_KERBEROS_PRINCIPAL=f"hive/{HOST}@{REALM}",
            METATIDE_THRIFT_KERBEROS_KEYTAB=str(own.service),
            METATIDE_THRIFT_AUTHORIZATION="metastore",
            METATIDE_THRIFT_AUTHORIZATION_S="3600",
            METATIDE_UPSTREAM_KERBEROS_PRINCIPAL=f"hive/_HOST@{REALM}",
            METATIDE_UPSTREAM_KERBEROS_LOGIN=OWN,
            METATIDE_UPSTREAM_KERBEROS_KEYTAB=str(own.own),
            PYTHONPATH=str(package_folder("gssapi", 1)),
        ) as up,
    ):
        keytabs = own.service, own.own, *own.users.values()
        yield Site(up, f"thrift://{HOST}:{port}", address, users, keytabs)


@pytest.fixture(autouse=True)
def _no_key_is_logged(site: Site) -> Iterator[None]:
    yield
    logs = logs_in(site.up.folder / "logs")
    assert any("listening for Thrift" in text for text in logs.values())
    keys = [key for keytab in site.keytabs for key in keys_in(keytab)]
    assert_untold(keys, {**logs, "what is printed": site.up.output})


def make_table(client: HiveClient, name: str) -> Path:
    """Creates a table, whose folder only its owner reads; returns the folder."""
    table = client.api.Table()
    table.setDbName(DB)
    table.setTableName(name)
    table.setTableType("EXTERNAL_TABLE")
    table.setParameters({"EXTERNAL": "TRUE"})
    storage = client.api.StorageDescriptor()
    storage.setCols([client.api.FieldSchema("value", "int", "")])
    storage.setSerdeInfo(client.api.SerDeInfo())
    table.setSd(storage)
    client.client.createTable(table)
    location: str = client.client.getTable(DB, name).getSd().getLocation()
    folder = Path(location.removeprefix("file:"))
    folder.chmod(0o700)
    return folder


def read(client: HiveClient, name: str) -> str:
    try:
        table: Any = client.client.getTable(DB, name)
    except Py4JJavaError as error:
        return str(error.java_exception)
    return str(table.getParameters().get("round"))


def change(client: HiveClient, name: str, value: str) -> None:
    """Writes an event that touches the table."""
    table = client.client.getTable(DB, name)
    table.putToParameters("round", value)
    client.client.alter_table(DB, name, table)


def test_the_cache_answers_those_whom_the_metastore_lets_read(site: Site) -> None:
    owner = site.client(OWNER)
    database = owner.api.Database()
    database.setName(DB)
    owner.client.createDatabase(database)
    folder = make_table(owner, "coins")
    change(owner, "coins", "1")

    def is_from_cache() -> bool:
        before = site.from_cache
        assert read(owner, "coins") == "1"
        return site.from_cache > before

    site.up.until(is_from_cache)
    direct = site.users.client("ann", site.metastore)
    ann = site.client("ann")
    before = site.from_cache, site.unauthorized
    for _ in range(3):
        refusal = read(ann, "coins")
        assert "user=ann" in refusal
        assert refusal == read(direct, "coins")
    assert site.from_cache == before[0]
    assert site.unauthorized == before[1] + 3

    # What the metastore said counts until an event touches the table.
    folder.chmod(0o755)
    assert "ermission denied" not in read(ann, "coins")
    assert site.from_cache == before[0]
    change(owner, "coins", "2")

    def ann_is_from_cache() -> bool:
        earlier = site.from_cache
        assert read(ann, "coins") == "2"
        return site.from_cache > earlier

    site.up.until(ann_is_from_cache)
    folder.chmod(0o700)
    change(owner, "coins", "3")
    for _ in range(3):
        assert "user=ann" in read(ann, "coins")
    for client in (owner, ann, direct):
        client.close()


def test_lists_of_names_are_the_metastores(site: Site) -> None:
    client = site.client("ann")
    before = site.answers(r'relayed_total\{method="get_databases?",reason="\w+"\}')
    assert "default" in [*client.client.getAllDatabases()]
    assert site.answers(r'answers_total\{method="get_(all_)?databases",.*source="cache"\}') == 0
    assert site.answers(r'relayed_total\{method="get_\w*databases",reason="\w+"\}') > before
    client.close()
