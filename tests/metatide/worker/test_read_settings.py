"""What the configuration makes of the server of reads."""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from hive.errors import InputError
from hive.listener import LISTENER
from hive.names import parse_table_name, table_name
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create, metadata
from metatide.config import load
from metatide.stack.machine import free_port
from metatide.worker.read_settings import open_primary, peers_of, read_settings, tls
from query_api.consistency import Consistency
from query_api.http import Settings
from query_api.reads import GetTable, ListDatabases
from query_api.requirement_defaults import Defaults
from query_api.thrift.metastore.link import host_port
from tests.query_api.thrift.serving import ConfiguredMetastore


def settings(tmp_path: Path, environ: Mapping[str, str]) -> Settings:
    """With a database that doesn't answer."""
    url = f"postgresql://nobody@127.0.0.1:{free_port()}/nothing"
    named = {"METATIDE_DATABASE_URL": url, "METATIDE_DATA_DIR": str(tmp_path)}
    config = load(environ={**named, **environ}).config
    primary = open_primary(config)
    assert primary is not None
    try:
        return read_settings(config, primary)
    finally:
        asyncio.run(primary.close())


def test_reads_are_the_latest_and_open_to_all_unless_told(tmp_path: Path) -> None:
    found = settings(tmp_path, {})
    assert found.defaults.of(GetTable(table_name(None, "logs", "web"))) is Consistency.LATEST
    assert found.defaults.never_current is None
    assert found.tokens.holder_of(None)[0]


def test_the_first_pattern_that_matches_counts(tmp_path: Path) -> None:
    reads = {
        "METATIDE_READS_CONSISTENCY": "any",
        "METATIDE_READS_TABLES": "logs.tmp_*=within, logs.*|*.ledger=latest",
        "METATIDE_READS_MAX_AGE_MS": "250",
        "METATIDE_READS_FLOOR": "any",
    }
    defaults = settings(tmp_path, reads).defaults
    by_name = {name: defaults.of(GetTable(parse_table_name(name))) for name in NAMES}
    assert by_name == dict(zip(NAMES, ("within", "latest", "latest", "any"), strict=True))
    assert defaults.of(ListDatabases("hive")) is Consistency.ANY
    assert defaults.max_age_ms == 250


NAMES = ("logs.tmp_1", "logs.web", "sales.ledger", "sales.orders")


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        ("TABLES", "logs.*", "expected PATTERN=any, PATTERN=within or PATTERN=latest"),
        ("CONSISTENCY", "at_least", "expected latest, within or any"),
        ("TOKENS_PATH", "/nowhere/tokens", "reads.tokens_path: /nowhere/tokens can't be read"),
        ("TLS_CA", "/nowhere/ca.pem", "reads.tls_ca: /nowhere/ca.pem can't be used"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tmp_path: Path, name: str, value: str, complaint: str
) -> None:
    with pytest.raises(InputError, match=complaint):
        settings(tmp_path, {f"METATIDE_READS_{name}": value})


def test_a_workers_secret_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "secret"
    config = load(environ={"METATIDE_WORKER_SECRET_FILE": str(path)}).config
    says = f"^worker.secret_file: {path} can't be read: No such file or directory$"
    with pytest.raises(InputError, match=says):
        peers_of(config, "127.0.0.1:1")


def test_latest_is_refused_where_the_listener_is_not_transactional(
    tmp_path: Path, new_database: Callable[[], str]
) -> None:
    url = new_database()
    engine = unpooled_engine(url)
    create(engine, Version.V4_1)
    tables, now_s = metadata(Version.V4_1).tables, int(time.time())
    event = {"NL_ID": 1, "EVENT_ID": 1, "EVENT_TIME": now_s - 3600, "EVENT_TYPE": "CREATE_TABLE"}
    txn = {"TXN_ID": 9, "TXN_STATE": "o", "TXN_STARTED": now_s * 1000, "TXN_USER": "u"}
    with engine.begin() as connection:
        connection.execute(tables["NOTIFICATION_LOG"].insert().values(event))
        connection.execute(
            tables["TXNS"].insert().values(TXN_LAST_HEARTBEAT=0, TXN_HOST="h", TXN_TYPE=0, **txn)
        )
    there = {"METATIDE_DATABASE_URL": url}
    with pytest.raises(InputError, match=r"isn't transactional.*restart the metastores"):
        settings(tmp_path, there)
    never_current = settings(
        tmp_path, {**there, "METATIDE_READS_CONSISTENCY": "any"}
    ).defaults.never_current
    assert never_current is not None


async def test_the_metastore_is_asked_for_its_listener(tmp_path: Path) -> None:
    async def defaults(**its_settings: str) -> Defaults:
        metastore = ConfiguredMetastore(**its_settings)
        await metastore.start()
        url = f"thrift://{host_port(metastore.address)}"
        environ = {"METATIDE_UPSTREAM_URL": url, "METATIDE_READS_CONSISTENCY": "any"}
        try:
            return (await asyncio.to_thread(settings, tmp_path, environ)).defaults
        finally:
            await metastore.stop()

    transactional = await defaults(metastore_transactional_event_listeners=LISTENER)
    assert transactional.never_current is None
    assert "isn't transactional" in ((await defaults()).never_current or "")


def test_a_certificate_needs_its_key(tmp_path: Path) -> None:
    config = load(environ={"METATIDE_READS_TLS_CERTIFICATE": "/nowhere/cert.pem"}).config
    says = "^set both reads.tls_certificate and reads.tls_key, or neither$"
    with pytest.raises(InputError, match=says):
        tls(config)
    both = {
        "METATIDE_READS_TLS_CERTIFICATE": "/nowhere/cert.pem",
        "METATIDE_READS_TLS_KEY": "/nowhere/key.pem",
    }
    with pytest.raises(InputError, match="can't be used: "):
        tls(load(environ=both).config)
    assert tls(load(environ={}).config) is None
