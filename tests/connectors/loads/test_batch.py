"""Which loads a batch begins and ends."""

from collections.abc import Callable

import pytest
import sqlalchemy as sa

from connectors.loads import batch
from connectors.loads.batch import Database
from hive.errors import SourceError
from hive.names import DatabaseName, table_name
from hive.reader.engines import unpooled_engine
from hive.schema import Version, create, metadata
from state.records import (
    AnyRecord,
    LoadBegin,
    LoadEnd,
    Scope,
    ScopeKind,
    databases_scope,
    names_scope,
)
from tests.hive.reader.new_rows import add_row


class Sink:
    """Keeps what is sent."""

    shards = 1

    def __init__(self) -> None:
        self.records: list[AnyRecord] = []

    def send(self, _shard: int, record: AnyRecord, _row_hash: bytes | None = None) -> None:
        self.records.append(record)

    def flush(self) -> None:
        pass


def scopes_of(db: str) -> set[Scope]:
    table = table_name(None, db, "t")
    names = names_scope(DatabaseName("hive", db))
    return {names, Scope(ScopeKind.TABLE, table), Scope(ScopeKind.WRITE_IDS, table)}


def test_no_load_of_a_database_without_a_sequence_ends(new_database: Callable[[], str]) -> None:
    """It is being restored: nobody knows after which event its rows were written."""
    engine, version = unpooled_engine(new_database()), Version.V4_1
    create(engine, version)
    with engine.begin() as connection:
        connection.execute(sa.delete(metadata(version).tables["NOTIFICATION_SEQUENCE"]))
    sink = Sink()
    with pytest.raises(SourceError, match="NOTIFICATION_SEQUENCE has no row"):
        batch.load(Database(engine, version), sink, 0, [databases_scope("hive")])
    assert [type(record) for record in sink.records] == [LoadBegin]
    engine.dispose()


@pytest.mark.parametrize("type_", ["REMOTE", "remote"])
def test_no_load_of_a_remote_database_begins(type_: str, new_database: Callable[[], str]) -> None:
    engine, version = unpooled_engine(new_database()), Version.V4_1
    create(engine, version)
    for id_, (name, kind) in enumerate({"here": "NATIVE", "there": type_}.items()):
        columns = {"DB_ID": id_, "NAME": name, "TYPE": kind, "CTLG_NAME": "hive"}
        add_row(engine, version, "DBS", **columns, DB_LOCATION_URI=f"/{name}")
    sink = Sink()
    local, remote = scopes_of("here"), scopes_of("there")
    catalog = databases_scope("hive")
    batch.load(Database(engine, version), sink, 0, [*remote, *local, catalog])
    local.add(catalog)
    assert {record.scope for record in sink.records if isinstance(record, LoadBegin)} == local
    assert {record.scope for record in sink.records if isinstance(record, LoadEnd)} == local
    sink.records.clear()
    batch.load(Database(engine, version), sink, 0, list(remote))
    assert sink.records == []
    engine.dispose()
