"""Reads the facts about a target from a snapshot of its shard."""

from collections.abc import Callable
from typing import Final

from hive.names import TableName
from query_api.facts import Facts
from query_api.hot_tables import SharedReader
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.resolver.silent_changes import (
    FIRST_DATABASE,
    database_is_silent,
    is_replicated,
    table_is_silent,
)
from query_api.targets import Target, TargetKind
from state import keys
from state.entries import Entry
from state.loads import Cold, Loads
from state.records.actions import MISNAMED_EVENTS_MAX
from state.records.table_lists import is_cached
from state.shard_head import ShardHead
from state.shard_reader import ShardReader
from state.tables import ANY_TABLE, TABLE_ROW, TableState

FACTS_MAX: Final = 4096


def cached_facts(reader: ShardReader, target: Target) -> Facts:
    """The facts without write ids; a shared reader reads those of a table only once.

    If all partitions of a table may be served, so may each, on the same grounds.
    """
    if not isinstance(reader, SharedReader):
        return read_facts(reader, target, with_ids=False)
    if target.kind is TargetKind.PARTITION:
        facts = cached_facts(reader, Target(TargetKind.PARTITIONS, target.name))
        return facts if facts.refused is None else read_facts(reader, target, with_ids=False)
    if not target.is_of_table or target.constraints is not None:
        return read_facts(reader, target, with_ids=False)
    key = target.kind, target.name
    remembered = reader.facts.get(key)
    if remembered is None:
        if len(reader.facts) >= FACTS_MAX:
            reader.facts.clear()
        remembered = reader.facts[key] = read_facts(reader, target, with_ids=False)
    return remembered


def read_facts(reader: ShardReader, target: Target, *, with_ids: bool) -> Facts:
    """The facts that this snapshot shows; write ids only if they are to be compared."""
    head = reader.head
    reached = Position(head.epoch, head.applied)
    if head.paused:
        return Facts(reached, Reason.PAUSED)
    if not target.is_of_table:
        return _FACTS_OF[target.kind](reader, target, reached)
    if not is_cached(head.whitelist, head.blacklist, target.name):
        return Facts(reached, Reason.EXCLUDED)
    state = reader.state(target.name)
    if state is None:
        return Facts(reached, Reason.COLD, Cold.NEVER_LOADED)
    return _facts_of_table(reader, target, state, reached, with_ids=with_ids)


def _facts_of_table(
    reader: ShardReader, target: Target, state: TableState, reached: Position, *, with_ids: bool
) -> Facts:
    table, head = reader.table(target.name), reader.head
    detail = _why_cold(reader, target, state, table)
    if detail is not None:
        floor = max(state.loads.floor, state.statistics_floor, head.floor)
        return Facts(reached, Reason.COLD, detail, floor)
    # Allocations name no catalog: those of the other catalogs never reach their tables.
    with_ids = with_ids and target.name.in_default_catalog
    ids = reader.write_ids(target.name) if with_ids else None
    # Write ids that reflect later events than the objects may include writes that the objects lack.
    is_known = ids is not None and ids.reflects <= head.applied
    return Facts(
        reached,
        floor=0 if ids is None else max(ids.cold_since, 0),
        silent=_is_silent(reader, target, table),
        managed=state.managed,
        table_id=state.id if table is not None else 0,
        pending=ids is not None and state.is_pending(ids),
        write_ids=ids.snapshot() if ids is not None and is_known else None,
        former_names=_former_names(state, head)
        if state.former_names or head.renames_floor >= 0
        else (),
    )


def _why_cold(
    reader: ShardReader, target: Target, state: TableState, table: Entry | None
) -> str | None:
    head, loads = reader.head, state.loads
    cold = loads.cold(head.applied, head.floor)
    if cold is None:
        if state.doubtful and _is_doubtful(state, target):
            return state.why_cold(head.applied, head.floor)
        if target.kind is TargetKind.STATISTICS:
            cold = state.statistics_cold(head.applied, head.floor)
            return None if cold is None else f"{cold}: {state.statistics_doubt}"
        return None
    alone = _is_sure(table, loads, head)
    if target.kind is TargetKind.PARTITION:
        alone = alone and _is_sure(reader.partition(target.name, target.values), loads, head)
    elif target.kind is not TargetKind.TABLE:
        alone = False
    return None if alone else loads.describe(cold)


def _is_doubtful(state: TableState, target: Target) -> bool:
    """Whether any object of the target is uncertain, although the table is warm."""
    if TABLE_ROW in state.doubtful:
        return True
    match target.kind:
        case TargetKind.TABLE | TargetKind.CONSTRAINTS:
            return False
        case TargetKind.PARTITION:
            return keys.named_values(target.values) in state.doubtful
    return True


def _former_names(state: TableState, head: ShardHead) -> tuple[TableName, ...]:
    if _may_be_misnamed(head):
        return (ANY_TABLE,)
    oldest = head.applied - MISNAMED_EVENTS_MAX
    return tuple(former.name for former in state.former_names if former.event >= oldest)


def _may_be_misnamed(head: ShardHead, moved_at: int = -1) -> bool:
    """Whether late events may use a former name that isn't known, as after a rename at an event."""
    return max(head.renames_floor, moved_at) >= max(head.applied - MISNAMED_EVENTS_MAX, 0)


def _is_sure(entry: Entry | None, loads: Loads, head: ShardHead) -> bool:
    """Whether an entry may be served although the rest of its list is unknown."""
    return entry is not None and loads.tells_alone(entry.event, head.floor)


def _is_silent(reader: ShardReader, target: Target, table: Entry | None) -> bool:
    if table is None:
        return False
    match target.kind:
        case TargetKind.TABLE:
            return table_is_silent(table.data)
        case TargetKind.PARTITION | TargetKind.PARTITIONS:
            return is_replicated(table.data)
        case TargetKind.CONSTRAINTS:
            wanted = target.constraints
            return any(
                wanted in (None, constraint.kind) for constraint in reader.constraints(target.name)
            )
    return False


def _facts_of_names(reader: ShardReader, target: Target, reached: Position) -> Facts:
    loads = reader.names_loads(target.db)
    refused, detail = _list_is_cold(reader, loads)
    if target.kind is TargetKind.FUNCTIONS:
        return Facts(reached, refused, detail, silent=True)
    moved_at = -1 if loads is None else loads.moved_at
    former_names = (ANY_TABLE,) if _may_be_misnamed(reader.head, moved_at) else ()
    silent = loads is not None and loads.silent
    return Facts(reached, refused, detail, silent=silent, former_names=former_names)


def _facts_of_databases(reader: ShardReader, target: Target, reached: Position) -> Facts:
    catalog = target.name.catalog
    refused, detail = _list_is_cold(reader, reader.databases_loads(catalog))
    entries = dict(reader.databases(catalog))
    lacks_first = catalog == FIRST_DATABASE.catalog and FIRST_DATABASE.db not in entries
    silent = lacks_first or any(database_is_silent(entry.data) for entry in entries.values())
    return Facts(reached, refused, detail, silent=silent)


def _facts_of_database(reader: ShardReader, target: Target, reached: Position) -> Facts:
    loads = reader.databases_loads(target.name.catalog)
    entry = reader.database(target.db)
    refused, detail = _list_is_cold(reader, loads)
    if refused is not None and loads is not None and _is_sure(entry, loads, reader.head):
        refused, detail = None, ""
    silent = target.db == FIRST_DATABASE if entry is None else database_is_silent(entry.data)
    return Facts(reached, refused, detail, silent=silent)


def _list_is_cold(reader: ShardReader, loads: Loads | None) -> tuple[Reason | None, str]:
    if loads is None:
        return Reason.COLD, Cold.NEVER_LOADED
    cold = loads.cold(reader.head.applied, reader.head.floor)
    return (None, "") if cold is None else (Reason.COLD, loads.describe(cold))


def _facts_of_details(_reader: ShardReader, _target: Target, reached: Position) -> Facts:
    return Facts(reached, silent=True)


_FACTS_OF: Final[dict[TargetKind, Callable[[ShardReader, Target, Position], Facts]]] = {
    TargetKind.NAMES: _facts_of_names,
    TargetKind.FUNCTIONS: _facts_of_names,
    TargetKind.DATABASE: _facts_of_database,
    TargetKind.DATABASES: _facts_of_databases,
    TargetKind.DATABASE_DETAILS: _facts_of_details,
}
