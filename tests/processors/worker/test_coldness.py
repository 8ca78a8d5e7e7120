"""What a shard is found to lack."""

import pytest

from processors.worker.coldness import open_load, why_cold, with_objects
from state.loads import Cold
from state.records import LoadBegin, Scope, ScopeKind, SetLists, names_scope
from state.records.actions import AlterTable, CreateTable, Undecodable
from state.records.objects import fingerprint
from state.records.signals import LoadRequest
from state.shard_reader import ShardReader
from tests.processors.fold.shard import SCOPE, TABLE, Shard, change, image

OBJECTS = Scope(ScopeKind.OBJECTS, TABLE)
WRITE_IDS = Scope(ScopeKind.WRITE_IDS, TABLE)
NAMES = names_scope(TABLE.database)


@pytest.fixture
def shard() -> Shard:
    shard = Shard()
    shard.fold(change(1, CreateTable(image())))
    return shard


def cold(shard: Shard, scope: Scope) -> Cold | None:
    return why_cold(ShardReader(shard.store.snapshot()), scope, Cold.NEVER_LOADED)


def test_a_shard_that_knows_nothing_of_a_scope_has_never_loaded_it() -> None:
    for scope in (SCOPE, WRITE_IDS, NAMES):
        assert cold(Shard(), scope) is Cold.NEVER_LOADED
    assert cold(Shard(), OBJECTS) is None


def test_a_table_that_was_created_lacks_nothing(shard: Shard) -> None:
    assert [cold(shard, scope) for scope in (SCOPE, OBJECTS)] == [None, None]


def test_a_table_in_doubt_is_cold(shard: Shard) -> None:
    shard.fold(change(2, Undecodable(TABLE)))
    assert cold(shard, SCOPE) is Cold.DOUBT


@pytest.mark.parametrize("scope", [SCOPE, WRITE_IDS, OBJECTS])
def test_a_table_that_the_lists_leave_out_lacks_nothing(scope: Scope) -> None:
    """No load would bring it, however often somebody asked for one."""
    shard = Shard()
    shard.fold(SetLists(0, 1, (), (TABLE.in_catalog,)))
    assert cold(shard, scope) is None
    assert cold(shard, NAMES) is Cold.NEVER_LOADED


def test_a_load_is_open_until_it_ends(shard: Shard) -> None:
    assert open_load(ShardReader(shard.store.snapshot()), SCOPE) is None
    shard.fold(LoadBegin(0, "begun", SCOPE), LoadBegin(0, "names", NAMES))
    reader = ShardReader(shard.store.snapshot())
    for scope, load_id in ((SCOPE, "begun"), (NAMES, "names")):
        opened = open_load(reader, scope)
        assert opened is not None
        assert opened.id == load_id
        assert cold(shard, scope) is Cold.LOADING


def test_a_request_for_objects_names_those_that_are_in_doubt(shard: Shard) -> None:
    altered = AlterTable(image(b"new"), fingerprint(b"other"), rewrites=False, truncates=False)
    shard.fold(change(2, altered))
    assert cold(shard, OBJECTS) is Cold.DOUBT
    reader = ShardReader(shard.store.snapshot())
    assert with_objects(LoadRequest(0, OBJECTS, 1), reader) == LoadRequest(0, OBJECTS, 2, ((),))
    whole = LoadRequest(0, SCOPE, 1)
    assert with_objects(whole, reader) is whole
