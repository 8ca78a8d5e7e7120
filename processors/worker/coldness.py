"""What a shard lacks of a scope, and whether a load that brings it is under way."""

from typing import Final

from state.loads import Cold, Loads, OpenLoad
from state.records import Scope, ScopeKind
from state.records.signals import LoadRequest
from state.records.table_lists import is_cached
from state.shard_reader import ShardReader

_OF_TABLES: Final = (ScopeKind.TABLE, ScopeKind.WRITE_IDS, ScopeKind.OBJECTS)


def why_cold(reader: ShardReader, scope: Scope, unknown: Cold | None) -> Cold | None:
    """Why a load would help the shard to answer for a scope: None if it can, or if the lists leave
    the table out; `unknown` if it knows nothing of the scope."""
    name, head = scope.name, reader.head
    if scope.kind in _OF_TABLES and not is_cached(head.whitelist, head.blacklist, name):
        return None
    match scope.kind:
        case ScopeKind.TABLE:
            state = reader.state(name)
            return unknown if state is None else state.statistics_cold(head.applied, head.floor)
        case ScopeKind.OBJECTS:
            state = reader.state(name)
            return Cold.DOUBT if state is not None and state.doubtful else None
        case ScopeKind.WRITE_IDS:
            if reader.state(name) is None:
                return unknown
            return Cold.DOUBT if reader.write_ids(name).cold else None
    loads = _loads(reader, scope)
    return unknown if loads is None else loads.cold(head.applied, head.floor)


def open_load(reader: ShardReader, scope: Scope) -> OpenLoad | None:
    """The load of a scope that has begun and not ended."""
    loads = _loads(reader, scope)
    return None if loads is None else loads.open


def with_objects(request: LoadRequest, reader: ShardReader) -> LoadRequest:
    """The request; if it is for objects of a table, with those that are in doubt now."""
    if request.scope.kind is not ScopeKind.OBJECTS:
        return request
    state = reader.state(request.scope.name)
    assert state is not None
    objects = tuple(sorted(state.doubtful))
    floor = max(doubt.event for doubt in state.doubtful.values())
    return LoadRequest(request.epoch, request.scope, floor, objects)


def _loads(reader: ShardReader, scope: Scope) -> Loads | None:
    """The loads of a scope; None if the shard knows nothing of it, or objects are only reread."""
    match scope.kind:
        case ScopeKind.TABLE:
            state = reader.state(scope.name)
            return None if state is None else state.loads
        case ScopeKind.NAMES:
            return reader.names_loads(scope.name.database)
        case ScopeKind.DATABASES:
            return reader.databases_loads(scope.name.catalog)
    return None
