"""When the cache may answer: the rules alone, over the state of one shard.

Each function gives the reason why the cache may not answer, or None where it may. What is read
then must come from the same view.
"""

from enum import StrEnum
from typing import NamedTuple

from hive.names import DatabaseName, TableName
from hive.write_ids import relations
from hive.write_ids.lists import WriteIdList
from state.loads import Cold, Loads
from state.shard_reader import ShardReader
from state.tables import TABLE_ROW


class Refusal(StrEnum):
    """Why the database has to answer, where it isn't that something is cold."""

    PAUSED = "paused"
    BEHIND = "behind"
    OTHER_TABLE = "other_table"
    """The table that the reader knows is not the one of this name."""
    IDS_COLD = "ids_cold"
    IDS_AHEAD = "ids_ahead"
    """They were loaded after events that the table doesn't reflect yet."""
    PENDING = "pending"
    """A write was folded that may still be aborted."""
    OTHER_WRITES = "other_writes"
    """A transaction committed between the reader's list and ours."""


Reason = Cold | Refusal


class HistoryPosition(NamedTuple):
    """How far a history of the metastore is told; epochs count first."""

    epoch: int
    event: int


class ByWriteIds(NamedTuple):
    """The list of a reader's snapshot, and the table that it means."""

    ids: WriteIdList
    table_id: int
    accept_newer: bool = False


class ReadRequest(NamedTuple):
    """What a reader needs; all that is given must hold. Without anything: what is there."""

    at_least: HistoryPosition | None = None
    write_ids: ByWriteIds | None = None


ANY = ReadRequest()


def position(reader: ShardReader) -> HistoryPosition:
    """What an answer of this view reflects."""
    return HistoryPosition(reader.head.epoch, reader.head.applied)


def table(reader: ShardReader, name: TableName, request: ReadRequest) -> Reason | None:
    """For all of a table but its statistics, for lists, and for what isn't there."""
    state = reader.state(name)
    if state is None:
        return Cold.NEVER_LOADED
    cold = state.cold(reader.head.applied, reader.head.floor)
    return _refusal(reader, request) or cold or _writes(reader, name, request)


def constraints(reader: ShardReader, name: TableName, request: ReadRequest) -> Reason | None:
    """For the constraints of a table, which partitions in doubt don't concern."""
    state = reader.state(name)
    if state is None:
        return Cold.NEVER_LOADED
    cold = Cold.DOUBT if TABLE_ROW in state.doubtful else _cold(reader, state.loads)
    return _refusal(reader, request) or cold or _writes(reader, name, request)


def statistics(reader: ShardReader, name: TableName, request: ReadRequest) -> Reason | None:
    """For the column statistics of a table and of its partitions."""
    state = reader.state(name)
    if state is None:
        return Cold.NEVER_LOADED
    cold = state.statistics_cold(reader.head.applied, reader.head.floor)
    return _refusal(reader, request) or cold or _writes(reader, name, request)


def entry(reader: ShardReader, name: TableName, event: int, request: ReadRequest) -> Reason | None:
    """For a table's row or one partition as of this event: it may be known where others aren't."""
    state = reader.state(name)
    if state is None:
        return Cold.NEVER_LOADED
    others_in_doubt = _cold(reader, state.loads) is None and TABLE_ROW not in state.doubtful
    if others_in_doubt or state.loads.tells_alone(event, reader.head.floor):
        return _refusal(reader, request) or _writes(reader, name, request)
    return table(reader, name, request)


def names(reader: ShardReader, db: DatabaseName, asked: ReadRequest) -> Reason | None:
    """For a database's tables, those that don't exist included, and its functions."""
    return _refusal(reader, asked) or _cold(reader, reader.names_loads(db))


def databases(reader: ShardReader, catalog: str, asked: ReadRequest) -> Reason | None:
    """For a catalog's databases."""
    return _refusal(reader, asked) or _cold(reader, reader.databases_loads(catalog))


def _refusal(reader: ShardReader, asked: ReadRequest) -> Refusal | None:
    if reader.head.paused:
        return Refusal.PAUSED
    if asked.at_least is not None and position(reader) < asked.at_least:
        return Refusal.BEHIND
    return None


def _cold(reader: ShardReader, loads: Loads | None) -> Cold | None:
    if loads is None:
        return Cold.NEVER_LOADED
    return loads.cold(reader.head.applied, reader.head.floor)


def _writes(reader: ShardReader, name: TableName, request: ReadRequest) -> Refusal | None:
    """Whether our state of the table holds the writes of the reader's list, and no others."""
    if request.write_ids is None:
        return None
    requested, table_id, accept_newer = request.write_ids
    state, write_ids = reader.state(name), reader.write_ids(name)
    if state is None or not state.managed or table_id <= 0 or state.id != table_id:
        return Refusal.OTHER_TABLE
    cached = write_ids.snapshot()
    if cached is None:
        return Refusal.IDS_COLD
    if write_ids.reflects > reader.head.applied:
        return Refusal.IDS_AHEAD
    if state.is_pending(write_ids):
        return Refusal.PENDING
    if accept_newer:
        holds = relations.contains(cached, requested)
    else:
        holds = relations.equal(requested, cached)
    return None if holds else Refusal.OTHER_WRITES
