"""Tells whether tables are in the cache, without reading them, so that nothing is loaded."""

import asyncio
from collections.abc import Sequence
from typing import Final

import msgspec

from hive.errors import UNDECODABLE, MetatideError
from hive.names import TableName
from query_api.http.forward import Forwarder
from query_api.http.table_names import TableNames
from query_api.reasons import Reason
from query_api.resolver.shard_facts import read_facts
from query_api.shards import Views
from query_api.targets import Target, TargetKind

PATH: Final = "/v1/cache-states"


class TableCacheState(msgspec.Struct, frozen=True):
    """Whether a table is in the cache, and if not, why."""

    table: str
    warm: bool
    """Whether the cache can answer all reads of the table, if the consistency allows it."""
    reason: str
    """Why not; empty if it is warm."""
    detail: str
    load: str
    """The last load of the table; empty if there was none. It changes with a refresh."""


class TableCacheStates(msgspec.Struct, frozen=True):
    """The states of tables, in the order of the request."""

    tables: list[TableCacheState]


_decode: Final = msgspec.json.Decoder(TableCacheStates).decode


class CachedTables:
    """Looks into the shards held here, and asks the owners of the others."""

    def __init__(self, views: Views, forwarder: Forwarder) -> None:
        self._views = views
        self._forwarder = forwarder

    async def states(self, requested: TableNames, *, is_forwarded: bool) -> TableCacheStates:
        names = requested.distinct()
        owners: dict[str | None, list[TableName]] = {}
        for name in names:
            url = None if is_forwarded else self._owner(name)
            owners.setdefault(url, []).append(name)
        parts = await asyncio.gather(
            *(
                self._here(some) if url is None else self._there(url, some)
                for url, some in owners.items()
            )
        )
        by_name = {table.table: table for part in parts for table in part}
        return TableCacheStates([by_name[str(name)] for name in names])

    def _owner(self, name: TableName) -> str | None:
        number = self._views.shard_of(Target(TargetKind.TABLE, name))
        source = self._views.source
        return None if source.shard(number) is not None else source.owner_url(number)

    async def _here(self, names: Sequence[TableName]) -> list[TableCacheState]:
        return [self._look_up(name) for name in names]

    def _look_up(self, name: TableName) -> TableCacheState:
        # If a table's partitions are known, so is everything else of it but its statistics.
        target = Target(TargetKind.PARTITIONS, name)
        try:
            reader = self._views.reader(self._views.shard_of(target))
            if reader is None:
                return _not_cached(name, Reason.NOT_OWNED)
            facts = read_facts(reader, target, with_ids=False)
            state = reader.state(name)
        except MetatideError:
            return _not_cached(name, Reason.STORE_ERROR)
        ended = None if state is None else state.loads.ended
        load = "" if ended is None else ended.id
        return TableCacheState(
            str(name), facts.refused is None, facts.refused or "", facts.detail, load
        )

    async def _there(self, url: str, names: Sequence[TableName]) -> list[TableCacheState]:
        body = msgspec.json.encode(TableNames([str(name) for name in names]))
        answer = await self._forwarder.ask(url, PATH, body=body)
        try:
            if answer is not None and answer.status == 200:
                tables = _decode(answer.content).tables
                if [table.table for table in tables] == [str(name) for name in names]:
                    return tables
        except UNDECODABLE:
            pass
        return [_not_cached(name, Reason.NOT_OWNED, "its owner doesn't answer") for name in names]


def _not_cached(name: TableName, reason: Reason, detail: str = "") -> TableCacheState:
    return TableCacheState(str(name), False, reason, detail, "")
