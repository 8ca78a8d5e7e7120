"""Administration over HTTP: operators' orders are sent to a connector, which writes them to the
topic.

The answer to POST says that an order was sent. GET shows the orders that the shards here have
applied.
"""

import asyncio
from collections.abc import Sequence
from typing import Final, Protocol

import msgspec
import structlog
from starlette.requests import Request
from starlette.routing import BaseRoute

from hive.errors import InputError, MachineError
from hive.names import TableName, parse_table_name
from hive.table_lists import check_patterns, is_cached
from query_api.http.access import Tokens
from query_api.http.authorization import Holder
from query_api.http.routes import Handler, admin_route, body_of
from query_api.shards import Views
from state.records import Scope, ScopeKind
from state.records.signals import AnySignal, Ask, Choose, Forget, Serve
from state.shard_head import ShardHead

PATH: Final = "/v1/admin"
TABLES_MAX: Final = 1_000
PATTERNS_MAX: Final = 1_000
SENT_S_MAX: Final = 15.0

log = structlog.get_logger(__name__)


class Orders(Protocol):
    """Sends orders to a connector."""

    async def order(self, signal: AnySignal) -> None:
        """Returns once the order is on its way."""
        ...


class Tables(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Tables to act on, named `db.table` or `catalog.db.table`."""

    tables: list[str]


class Lists(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Which tables are cached, by Hive's patterns over `db.table`. A table is cached if the
    whitelist is empty or matches it, and the blacklist doesn't match it.
    """

    whitelist: list[str] = []
    blacklist: list[str] = []


class Nothing(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The body of an order that takes no arguments."""


class Sent(msgspec.Struct, frozen=True):
    """How many orders were sent."""

    orders: int


class ShardOrders(msgspec.Struct, frozen=True):
    """The orders that a shard has applied."""

    shard: int
    paused: bool
    whitelist: tuple[str, ...]
    blacklist: tuple[str, ...]


class Administration:
    """Takes orders from administrators, and logs who gave each."""

    def __init__(self, views: Views, orders: Orders) -> None:
        self._views = views
        self._orders = orders

    def routes(self, tokens: Tokens) -> list[BaseRoute]:
        of: dict[str, Handler] = {
            "warm": self.warm,
            "refresh": self.refresh,
            "drop": self.drop,
            "pause": self.pause,
            "resume": self.resume,
            "lists": self.lists,
        }
        return [
            admin_route(PATH, "GET", tokens, self.show),
            *(
                admin_route(f"{PATH}/{name}", "POST", tokens, endpoint)
                for name, endpoint in of.items()
            ),
        ]

    async def show(self, _request: Request, _by: Holder) -> list[ShardOrders]:
        return [
            ShardOrders(number, head.paused, head.whitelist, head.blacklist)
            for number, head in self._heads()
        ]

    async def warm(self, request: Request, by: Holder) -> Sent:
        """Load these tables if they aren't loaded yet."""
        tables = self._let_in(await _tables(request))
        epoch = self._views.reached.epoch
        asks = [Ask(epoch, Scope(ScopeKind.TABLE, name), 0) for name in tables]
        return await self._send(by, "warm", asks, tables=_texts(tables))

    async def refresh(self, request: Request, by: Holder) -> Sent:
        """Drop these tables and load them again."""
        return await self._forget(request, by, "refresh", load=True)

    async def drop(self, request: Request, by: Holder) -> Sent:
        """Drop these tables until somebody reads them."""
        return await self._forget(request, by, "drop", load=False)

    async def pause(self, request: Request, by: Holder) -> Sent:
        """Stop serving from the cache: the database answers everything."""
        return await self._serve(request, by, "pause", paused=True)

    async def resume(self, request: Request, by: Holder) -> Sent:
        """Serve from the cache again."""
        return await self._serve(request, by, "resume", paused=False)

    async def lists(self, request: Request, by: Holder) -> Sent:
        """Replace the whitelist and the blacklist."""
        wanted = await body_of(request, Lists)
        white, black = _patterns(wanted.whitelist), _patterns(wanted.blacklist)
        above = max((head.lists_version for _, head in self._heads()), default=0)
        order = Choose(self._views.reached.epoch, above, white, black)
        return await self._send(by, "lists", [order], whitelist=white, blacklist=black)

    async def _forget(self, request: Request, by: Holder, what: str, *, load: bool) -> Sent:
        tables = await _tables(request)
        if load:
            self._let_in(tables)
        epoch = self._views.reached.epoch
        orders = [Forget(epoch, name, load) for name in tables]
        return await self._send(by, what, orders, tables=_texts(tables))

    async def _serve(self, request: Request, by: Holder, what: str, *, paused: bool) -> Sent:
        await body_of(request, Nothing)
        above = max((head.pause_version for _, head in self._heads()), default=0)
        return await self._send(by, what, [Serve(self._views.reached.epoch, above, paused)])

    async def _send(
        self,
        by: Holder,
        what: str,
        signals: Sequence[AnySignal],
        **more: object,
    ) -> Sent:
        # Logged before it is done, so that no order is carried out without its author on record.
        log.warning("administration", who=by.name, address=by.address, what=what, **more)
        try:
            async with asyncio.timeout(SENT_S_MAX):
                await asyncio.gather(*map(self._orders.order, signals))
        except TimeoutError:
            raise MachineError(
                f"Kafka hasn't taken it within {SENT_S_MAX:g} s; the order may still be carried out"
            ) from None
        return Sent(len(signals))

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


async def _tables(request: Request) -> list[TableName]:
    wanted = (await body_of(request, Tables)).tables
    if not 0 < len(wanted) <= TABLES_MAX:
        raise InputError(f"name 1 to {TABLES_MAX} tables, not {len(wanted)}")
    return list(dict.fromkeys(map(parse_table_name, wanted)))


def _texts(tables: list[TableName]) -> list[str]:
    return [str(name) for name in tables]


def _patterns(texts: list[str]) -> tuple[str, ...]:
    if len(texts) > PATTERNS_MAX:
        raise InputError(f"give at most {PATTERNS_MAX} patterns, not {len(texts)}")
    check_patterns(texts)
    return tuple(texts)
