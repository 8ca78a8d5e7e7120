"""What must become of a deployment that is left in peace for a while."""

from state.loads import Doubt, Loads
from state.records import OpenTransactions, Pause, Scope, ScopeKind, SetLists, names_scope
from state.records.routing import home_shard, table_shard
from state.shard_reader import ShardReader
from tests.model import serving
from tests.model.loads import NOWHERE, ids_scope, table_scope
from tests.model.metastore import DBS
from tests.model.serving import ByWriteIds, ReadRequest
from tests.model.topic import SHARDS
from tests.model.world import Shard, World

ROUNDS_MAX = 10


def settle(world: World) -> None:
    """Everything that was written is published, every transaction ends, and loads answer all that
    the fold has asked for; loads that were begun and never ended are begun again."""
    for txn in world.store.now.open:
        world.store.commit(txn)
    catch_up(world)
    for shard in range(SHARDS):
        world.topic.send(shard, Pause(world.topic.epoch, world.number(), False))
        world.topic.send(shard, SetLists(world.topic.epoch, world.number(), (), ()))
    tell_open(world)
    for _ in range(ROUNDS_MAX):
        requests = [(n, scope) for n, s in enumerate(world.shards) for scope in _awaited_scopes(s)]
        if not requests:
            return
        for number, scope in requests:
            load(world, number, scope)
    raise AssertionError(
        f"after {ROUNDS_MAX} rounds of loads these are still asked for: {requests}"
    )


def catch_up(world: World) -> None:
    """More events, so that a connector that missed the last ones has something to tell. The record
    of the first may be damaged: a shard that has skipped one follows from the next one on.
    """
    for _ in range(2):
        world.store.commit(world.store.begin())
        publisher = world.publishers[0]
        publisher.publish(1_000)
        publisher.progress()


def tell_open(world: World) -> None:
    now = world.store.now
    for shard in range(SHARDS):
        world.topic.send(shard, OpenTransactions(world.topic.epoch, now.event, tuple(now.open)))


def load(world: World, shard: int, scope: Scope) -> None:
    if scope.kind is ScopeKind.OBJECTS:
        world.reread(shard, scope.name)
        return
    load = world.new_load(shard, scope)
    load.begin(world.topic)
    world.complete(load)


def _awaited_scopes(shard: Shard) -> list[Scope]:
    reader = shard.reader
    signals = dict.fromkeys(shard.signals)
    for name in reader.table_names():
        state = reader.state(name)
        if state is not None and state.loads.open is not None:
            signals[table_scope(name)] = None
        if state is not None and state.ids_loads.open is not None:
            signals[ids_scope(name)] = None
        if state is not None and state.doubtful:
            signals[Scope(ScopeKind.OBJECTS, name)] = None
    for db in reader.database_names():
        if _open(reader.names_loads(db)):
            signals[names_scope(db)] = None
    for catalog in reader.catalogs():
        if _open(reader.databases_loads(catalog)):
            signals[NOWHERE] = None
    return list(signals)


def _open(loads: Loads | None) -> bool:
    return loads is not None and loads.open is not None


def check_nothing_was_forgotten(world: World) -> None:
    """After `settle`, what was known once is known again: the fold had asked for all it needs."""
    for table in world.store.now.content.tables.values():
        reader = world.shards[table_shard(table.name, SHARDS)].reader
        state = reader.state(table.name)
        if state is None or (state.loads.ended is None and state.loads.doubt is Doubt.NONE):
            continue
        assert serving.table(reader, table.name, _everything(reader)) is None, str(table.name)
        assert serving.statistics(reader, table.name, _everything(reader)) is None, str(table.name)
        if table.row.managed:
            assert reader.write_ids(table.name).cold is None, str(table.name)
    for db in DBS:
        reader = world.shards[home_shard(db, SHARDS)].reader
        loads = reader.names_loads(db)
        if loads is not None and loads.ended is not None:
            assert serving.names(reader, db, _everything(reader)) is None, db


def ask_for_all(world: World) -> None:
    """Readers ask for what is cold, and it is loaded."""
    for table in world.store.now.content.tables.values():
        shard = table_shard(table.name, SHARDS)
        reader = world.shards[shard].reader
        cold = serving.table(reader, table.name, serving.ANY)
        if cold or serving.statistics(reader, table.name, serving.ANY):
            load(world, shard, table_scope(table.name))
        elif reader.write_ids(table.name).cold:
            load(world, shard, ids_scope(table.name))
    for db in world.store.now.content.databases:
        shard = home_shard(db, SHARDS)
        if serving.names(world.shards[shard].reader, db, serving.ANY):
            load(world, shard, names_scope(db))
    for shard in range(SHARDS):
        load(world, shard, NOWHERE)


def check_all_is_served(world: World) -> None:
    """Everything that exists is answered from the cache, by its position and by write ids."""
    now = world.store.now
    for table in now.content.tables.values():
        name = table.name
        reader = world.shards[table_shard(name, SHARDS)].reader
        requests = [_everything(reader)]
        ids = now.valid_ids(name, None)
        # Ids that began anew without an event are noticed at the next allocation. And Hive cuts
        # a list without committed ids short: an id that was given up lies beyond its end then.
        cut_short = ids.hwm < now.next_ids.get(name, 1) - 1
        if table.row.managed and not world.store.history.restarts and not cut_short:
            requests.append(ReadRequest(write_ids=ByWriteIds(ids, table.row.id)))
        for request in requests:
            for rule in (serving.table, serving.statistics):
                refused = rule(reader, name, request)
                assert refused is None, f"{name} is {refused} for {request}"
        home = world.shards[home_shard(name.database, SHARDS)].reader
        assert serving.names(home, name.database, _everything(home)) is None
    for shard in world.shards:
        assert serving.databases(shard.reader, "hive", _everything(shard.reader)) is None


def _everything(reader: ShardReader) -> ReadRequest:
    return ReadRequest(at_least=serving.position(reader))
