"""Constraints go without a word when one of the same name does, in a real Hive 4.2 metastore."""

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest

from hive.names import TableName
from query_api.backend import Backend
from query_api.consistency import Consistency
from query_api.database import Primary
from query_api.reads import GetConstraints
from query_api.reasons import Reason, Source
from query_api.requirement import Requirement
from query_api.thrift.call import CallAnswer
from state.records import Scope, ScopeKind
from tests.query_api.audit.shard_audits import audited
from tests.query_api.thrift.methods import caches, wire
from tests.query_api.thrift.methods.comparison import ask, whole
from tests.query_api.thrift.methods.corpus import Call
from tests.support.hive import hms_objects as objects
from tests.support.hive.hms_client import HmsClient
from tests.support.hive.metastore import Instances

pytestmark = pytest.mark.hive
TYPES = {"id": "bigint", "name": "string"}
ALL, FOREIGN = "get_all_table_constraints", "get_foreign_keys"
REQUESTS = {
    "get_primary_keys": "PrimaryKeysRequest",
    "get_unique_constraints": "UniqueConstraintsRequest",
    "get_not_null_constraints": "NotNullConstraintsRequest",
    "get_default_constraints": "DefaultConstraintsRequest",
    "get_check_constraints": "CheckConstraintsRequest",
    FOREIGN: "ForeignKeysRequest",
    ALL: "AllTableConstraintsRequest",
}
NAMES = {"pk", "uk", "nn", "dc", "cc"}
LABELS = {"primary_key pk", "unique uk", "not_null nn", "default dc", "check cc"}
_OWN = {"catName": "hive", "enable_cstr": False, "validate_cstr": False, "rely_cstr": True}


class ComparedPair(NamedTuple):
    """A metastore with tables in two databases, and a cache of it."""

    instances: Instances
    client: HmsClient
    cache: caches.Cache
    ours: Any
    theirs: Any

    @property
    def name(self) -> TableName:
        return TableName("hive", self.ours.dbName, self.ours.tableName)

    def check(self) -> set[str]:
        """What the metastore says of our table is said here too: under `latest` by the database
        where there are constraints, under `any` by the cache. Gives the methods that show
        constraints.
        """
        return asyncio.run(self._check())

    async def _check(self) -> set[str]:
        primary = Primary(self.instances.database_url)
        try:
            latest, any_ = (
                caches.methods(self.cache, primary, one, "")
                for one in (Consistency.LATEST, Consistency.ANY)
            )
            shown = set()
            with wire.connect(self.instances.addresses[0]) as metastore:
                for method in REQUESTS:
                    call = self._call(method)
                    theirs = wire.result(method, metastore.call(method, call.given))
                    if has_some(theirs):
                        shown.add(method)
                    answer = await ask(latest, call)
                    assert isinstance(answer, CallAnswer)
                    assert wire.result(method, whole(answer)) == theirs
                    if method in shown:
                        silent = Source.DATABASE, Reason.SILENT_LOG
                        assert (answer.source, answer.reason) == silent
                    assert isinstance(await ask(any_, call), CallAnswer)
            resolver = Backend(self.cache.source, primary).resolver
            served = await resolver.answer(GetConstraints(self.name), Requirement())
            assert bool(served.value) == (ALL in shown)
            if served.value:
                assert (served.source, served.reason) == (Source.DATABASE, Reason.SILENT_LOG)
        finally:
            await primary.close()
        return shown

    def _call(self, method: str) -> Call:
        names = {ALL: ("dbName", "tblName"), FOREIGN: ("foreign_db_name", "foreign_tbl_name")}
        db, table = names.get(method, ("db_name", "tbl_name"))
        given = {"catName": "hive", db: self.name.db, table: self.name.table}
        return Call(method, wire.arguments(method, wire.request(REQUESTS[method], **given)))

    def unsaid(self) -> set[str]:
        """The constraints that an audit finds to differ; none of them is held against us."""
        scope = Scope(ScopeKind.TABLE, self.name)
        [audit] = audited(self.instances.database_url, self.cache.source, [scope])
        assert (audit.wrong, audit.left_out) == (0, {})
        assert all(one.silent for one in audit.differences)
        return {one.object for one in audit.differences}


def has_some(answer: Any) -> bool:
    """Whether there is a constraint in an answer."""
    if isinstance(answer, dict):
        return any(map(has_some, answer.values()))
    return isinstance(answer, list) and bool(answer)


@pytest.fixture(params=["events", "load"])
def pair(metastore: Instances, request: pytest.FixtureRequest) -> Iterator[ComparedPair]:
    with (
        metastore.connect() as client,
        caches.following(metastore.database_url) as cache,
    ):
        names = [f"constraints_{number}_{client.position()}" for number in (1, 2)]
        for name in names:
            client.create_database(name)
        ours, theirs = (
            client.create_table(objects.table(db, "t", TYPES, transactional=False)) for db in names
        )
        compared = ComparedPair(metastore, client, cache, ours, theirs)
        add_primary_key(client, theirs)
        for table in (ours, theirs):
            add_others(client, table)
        add_foreign_key(client, ours, theirs)
        add_primary_key(client, ours)
        if request.param == "load":
            cache.load()
        cache.follow()
        yield compared
        for name in names:
            client.rpc.drop_database(name, True, True)


def add_primary_key(client: HmsClient, table: Any) -> None:
    key = client.t.SQLPrimaryKey(key_seq=1, pk_name="pk", **_of(table))
    client.rpc.add_primary_key(client.t.AddPrimaryKeyRequest(primaryKeyCols=[key]))


def add_others(client: HmsClient, table: Any) -> None:
    """One of each kind that needs no other table."""
    t, of = client.t, _of(table)
    unique = t.SQLUniqueConstraint(key_seq=1, uk_name="uk", **of)
    client.rpc.add_unique_constraint(t.AddUniqueConstraintRequest(uniqueConstraintCols=[unique]))
    client.add_not_null(table, "id", "nn")
    default = t.SQLDefaultConstraint(default_value="1", dc_name="dc", **of)
    client.rpc.add_default_constraint(
        t.AddDefaultConstraintRequest(defaultConstraintCols=[default])
    )
    check = t.SQLCheckConstraint(check_expression="id > 0", dc_name="cc", **of)
    client.rpc.add_check_constraint(t.AddCheckConstraintRequest(checkConstraintCols=[check]))


def add_foreign_key(client: HmsClient, child: Any, parent: Any) -> None:
    places = {"fktable_db": child.dbName, "fktable_name": child.tableName, "fkcolumn_name": "id"}
    places |= {"pktable_db": parent.dbName, "pktable_name": parent.tableName}
    key = client.t.SQLForeignKey(
        pkcolumn_name="id",
        key_seq=1,
        update_rule=0,
        delete_rule=0,
        fk_name="fk",
        pk_name="pk",
        **places,
        **_OWN,
    )
    client.rpc.add_foreign_key(client.t.AddForeignKeyRequest(foreignKeyCols=[key]))


def _of(table: Any) -> dict[str, Any]:
    place = {"table_db": table.dbName, "table_name": table.tableName, "column_name": "id"}
    return {**place, **_OWN}


def drop_each(client: HmsClient, table: Any) -> None:
    for name in NAMES:
        client.drop_constraint(table, name)


def drop_table(client: HmsClient, table: Any) -> None:
    client.rpc.drop_table(table.dbName, table.tableName, False)


@pytest.mark.parametrize("drop", [drop_each, drop_table])
def test_they_go_with_those_of_the_same_name_elsewhere(
    pair: ComparedPair, drop: Callable[[HmsClient, Any], None]
) -> None:
    assert pair.check() == {*REQUESTS}
    assert pair.unsaid() == set()
    drop(pair.client, pair.theirs)
    pair.cache.follow()
    assert pair.check() == set()
    assert pair.unsaid() == {*LABELS, "foreign_key fk"}
    pair.cache.load()
    assert pair.check() == set()
    assert pair.unsaid() == set()


def test_a_foreign_key_comes_back_with_its_parents_key(pair: ComparedPair) -> None:
    pair.client.drop_constraint(pair.theirs, "pk")
    pair.cache.load()
    assert pair.check() == {*REQUESTS} - {"get_primary_keys", FOREIGN}
    add_primary_key(pair.client, pair.theirs)
    pair.cache.follow()
    assert pair.check() == {*REQUESTS} - {"get_primary_keys"}
    assert pair.unsaid() == {"foreign_key fk"}


def test_what_never_had_any_is_answered_by_the_cache(pair: ComparedPair) -> None:
    table = objects.table(pair.ours.dbName, "bare", TYPES, transactional=False)
    bare = pair._replace(ours=pair.client.create_table(table))
    pair.cache.follow()
    assert bare.check() == set()
    assert bare.unsaid() == set()
    pair.client.add_not_null(bare.ours, "id", "alone")
    pair.cache.follow()
    assert bare.check() == {"get_not_null_constraints", ALL}
