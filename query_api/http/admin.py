"""Administration over HTTP: operators' orders are sent to a connector, which writes them to the
topic.

The answer to POST says that an order was sent. GET shows the orders that the shards here have
applied.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Protocol, TypeVar

import msgspec
import structlog

from hive.errors import InputError, MachineError
from hive.names import TableName
from query_api.http.access import Access
from query_api.http.gate import Holder
from query_api.http.operation import Operation, OperationRequest
from query_api.http.table_names import TableNames
from query_api.shards import Views
from state.records import Scope, ScopeKind
from state.records.numbers import Natural
from state.records.signals import (
    AnySignal,
    LoadRequest,
    NewEpochOrder,
    PauseOrder,
    ResetTableOrder,
    SetListsOrder,
    SkipOrder,
)
from state.records.table_lists import check_patterns, is_cached
from state.shard_head import ShardHead
from state.topic.description import require_shard

PATH: Final = "/v1/admin"
PATTERNS_MAX: Final = 1_000
SENT_S_MAX: Final = 15.0

B = TypeVar("B")

log = structlog.get_logger(__name__)


class Orders(Protocol):
    """Sends orders to a connector."""

    async def order(self, signal: AnySignal) -> None:
        """Returns once the order is on its way."""
        ...


class ServingRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An order to pause the cache or to resume. `above` is the highest `pause_version` of any
    shard, and needed where the worker that takes the order doesn't hold all shards."""

    above: Natural = 0


class ResetRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An order to begin a new epoch. `above` is the highest `epoch` of any shard, and needed where
    the worker that takes the order doesn't hold all shards."""

    above: Natural = 0


class TableLists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which tables are cached, by Hive's patterns over `db.table`. A table is cached if the
    whitelist is empty or matches it, and the blacklist doesn't match it. `above` is the highest
    `lists_version` of any shard, and needed where the worker that takes the order doesn't hold all
    shards.
    """

    whitelist: list[str] = []
    blacklist: list[str] = []
    above: Natural = 0


class SkipRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The records to pass over if they can't be read: the one at `offset`, or all from `offset` to
    `last`."""

    shard: Natural
    offset: Natural
    last: Natural | None = None


class OrderReceipt(msgspec.Struct, frozen=True):
    """The number of orders that were sent. A connector carries them out."""

    orders: int


class ShardOrders(msgspec.Struct, frozen=True):
    """The orders that a shard has applied."""

    shard: int
    paused: bool
    whitelist: tuple[str, ...]
    blacklist: tuple[str, ...]
    pause_version: int
    lists_version: int
    epoch: int


class Administration:
    """Takes orders from administrators, and logs who gave each."""

    def __init__(self, views: Views, orders: Orders) -> None:
        self._views = views
        self._orders = orders

    async def show(self, _: OperationRequest[None]) -> list[ShardOrders]:
        return [
            ShardOrders(
                number,
                head.paused,
                head.whitelist,
                head.blacklist,
                head.pause_version,
                head.lists_version,
                head.epoch,
            )
            for number, head in self._heads()
        ]

    async def warm(self, request: OperationRequest[TableNames]) -> OrderReceipt:
        """Load these tables if they aren't loaded yet."""
        tables = self._let_in(request.body.distinct())
        epoch = self._views.reached.epoch
        requests = [LoadRequest(epoch, Scope(ScopeKind.TABLE, name), 0) for name in tables]
        return await self._send(request.by, "warm", requests, tables=_texts(tables))

    async def refresh(self, request: OperationRequest[TableNames]) -> OrderReceipt:
        """Drop these tables and load them again."""
        return await self._forget(request, "refresh", load=True)

    async def drop(self, request: OperationRequest[TableNames]) -> OrderReceipt:
        """Drop these tables until somebody reads them."""
        return await self._forget(request, "drop", load=False)

    async def pause(self, request: OperationRequest[ServingRequest]) -> OrderReceipt:
        """Stop serving from the cache: the database answers everything."""
        return await self._serve(request, "pause", paused=True)

    async def resume(self, request: OperationRequest[ServingRequest]) -> OrderReceipt:
        """Serve from the cache again."""
        return await self._serve(request, "resume", paused=False)

    async def lists(self, request: OperationRequest[TableLists]) -> OrderReceipt:
        """Replace the whitelist and the blacklist."""
        white, black = _patterns(request.body.whitelist), _patterns(request.body.blacklist)
        above = max(request.body.above, *(head.lists_version for _, head in self._heads()), 0)
        order = SetListsOrder(self._views.reached.epoch, above, white, black)
        return await self._send(request.by, "lists", [order], whitelist=white, blacklist=black)

    async def reset(self, request: OperationRequest[ResetRequest]) -> OrderReceipt:
        """Drop everything until somebody reads it, under a new epoch."""
        highest = max(request.body.above, *(head.epoch for _, head in self._heads()), 0)
        return await self._send(request.by, "reset", [NewEpochOrder(highest)])

    async def skip(self, request: OperationRequest[SkipRequest]) -> OrderReceipt:
        """Pass over records of a shard that can't be read, and drop all that it holds."""
        shard, first = request.body.shard, request.body.offset
        last = first if request.body.last is None else request.body.last
        require_shard(shard, self._views.source.count, "the topic")
        if last < first:
            raise InputError(f"give a last offset of {first} or more, not {last}")
        order = SkipOrder(self._views.reached.epoch, shard, first, last)
        return await self._send(request.by, "skip", [order], shard=shard, offset=first, last=last)

    async def _forget(
        self, request: OperationRequest[TableNames], what: str, *, load: bool
    ) -> OrderReceipt:
        tables = request.body.distinct()
        if load:
            self._let_in(tables)
        epoch = self._views.reached.epoch
        orders = [ResetTableOrder(epoch, name, load) for name in tables]
        return await self._send(request.by, what, orders, tables=_texts(tables))

    async def _serve(
        self, request: OperationRequest[ServingRequest], what: str, *, paused: bool
    ) -> OrderReceipt:
        above = max(request.body.above, *(head.pause_version for _, head in self._heads()), 0)
        order = PauseOrder(self._views.reached.epoch, above, paused)
        return await self._send(request.by, what, [order])

    async def _send(
        self,
        by: Holder,
        what: str,
        signals: Sequence[AnySignal],
        **more: object,
    ) -> OrderReceipt:
        # Logged before it is done, so that no order is carried out without its author on record.
        log.warning("administration", who=by.name, address=by.address, what=what, **more)
        try:
            async with asyncio.timeout(SENT_S_MAX):
                await asyncio.gather(*map(self._orders.order, signals))
        except TimeoutError:
            raise MachineError(
                f"Kafka hasn't taken it within {SENT_S_MAX:g} s; the order may still be carried out"
            ) from None
        return OrderReceipt(len(signals))

    def _let_in(self, tables: list[TableName]) -> list[TableName]:
        """Refuses tables that the lists leave out: shards would discard what was loaded."""
        for _, head in self._heads():
            out = [name for name in tables if not is_cached(head.whitelist, head.blacklist, name)]
            if out:
                raise InputError(
                    f"the white- or blacklist leaves {out[0]} out: see `metatide admin show`, and "
                    "let it in with `metatide admin lists`"
                )
        return tables

    def _heads(self) -> list[tuple[int, ShardHead]]:
        heads = []
        for number in range(self._views.source.count):
            reader = self._views.reader(number)
            if reader is not None:
                heads.append((number, reader.head))
        return heads


def _texts(tables: list[TableName]) -> list[str]:
    return [str(name) for name in tables]


def _patterns(texts: list[str]) -> tuple[str, ...]:
    if len(texts) > PATTERNS_MAX:
        raise InputError(f"give at most {PATTERNS_MAX} patterns, not {len(texts)}")
    check_patterns(texts)
    return tuple(texts)


def _order(
    id_: str,
    name: str,
    summary: str,
    handler: Callable[[Administration, OperationRequest[B]], Awaitable[OrderReceipt]],
    body: B,
) -> Operation[Administration, B, OrderReceipt]:
    return Operation(
        id_,
        "post",
        f"{PATH}/{name}",
        summary,
        handler,
        OrderReceipt,
        OrderReceipt(1),
        Access.ADMINISTRATORS,
        type(body),
        body,
        fails=("500",),
    )


_TABLES: Final = TableNames(["sales.orders"])

ORDERS: Final[tuple[Operation[Administration, Any, Any], ...]] = (
    Operation(
        "listShardOrders",
        "get",
        PATH,
        "The orders that the shards of this worker have applied",
        Administration.show,
        list[ShardOrders],
        [ShardOrders(0, False, (), ("tmp.*",), 40, 41, 0)],
        Access.ADMINISTRATORS,
    ),
    _order(
        "warmTables",
        "warm",
        "Load tables, if they aren't in the cache",
        Administration.warm,
        _TABLES,
    ),
    _order(
        "refreshTables",
        "refresh",
        "Drop tables and load them again",
        Administration.refresh,
        _TABLES,
    ),
    _order(
        "dropCachedTables",
        "drop",
        "Drop tables until somebody reads them",
        Administration.drop,
        _TABLES,
    ),
    _order(
        "pauseCache",
        "pause",
        "Stop answering from the cache",
        Administration.pause,
        ServingRequest(),
    ),
    _order(
        "resumeCache",
        "resume",
        "Answer from the cache again",
        Administration.resume,
        ServingRequest(),
    ),
    _order(
        "setTableLists",
        "lists",
        "Replace the lists of cached tables",
        Administration.lists,
        TableLists(["sales.*"], ["sales.tmp*"]),
    ),
    _order(
        "resetCache",
        "reset",
        "Drop everything until it is read, under a new epoch",
        Administration.reset,
        ResetRequest(),
    ),
    _order(
        "skipRecords",
        "skip",
        "Pass over records that can't be read; their shard drops everything and is paused",
        Administration.skip,
        SkipRequest(0, 5678),
    ),
)
