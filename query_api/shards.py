"""The shards as the worker that hosts the server gives them."""

from typing import Protocol

from query_api.positions import Position
from query_api.targets import Kind, Target
from state.kv import View
from state.reading import ShardReader
from state.records import Scope, ScopeKind
from state.records.routing import home_shard, table_shard
from state.store import Position as StorePosition


class Shard(Protocol):
    """A shard that this worker writes."""

    @property
    def position(self) -> StorePosition:
        """Of the last commit; it costs nothing to ask."""
        ...

    def snapshot(self) -> View | None:
        """Of this position or a later one; None while nothing can be read."""
        ...

    async def complete_up_to(self, epoch: int, event: int, timeout_s: float) -> bool:
        """Waits until the shard has folded all events up to there; False when the time is over."""
        ...


class ShardSource(Protocol):
    """Which shards there are, and who holds them."""

    @property
    def count(self) -> int: ...

    def shard(self, number: int) -> Shard | None:
        """None while it is another worker's, or isn't ready."""
        ...

    def owner_url(self, number: int) -> str | None:
        """Where the worker that holds the shard answers over HTTP; None when nobody is known."""
        ...

    def ask_for_load(self, scope: Scope, floor: int) -> None:
        """Signals that somebody wants what is cold. Doesn't wait."""
        ...


class Views:
    """One reader a shard, renewed when the shard has moved: requests between two commits share it.

    It is for the one thread of the event loop.
    """

    def __init__(self, source: ShardSource) -> None:
        self.source = source
        self._readers: dict[int, tuple[Shard, StorePosition, ShardReader]] = {}

    def shard_of(self, target: Target) -> int:
        """Databases are in every shard: any that is here will do."""
        count = self.source.count
        if target.is_of_table:
            return table_shard(target.name, count)
        if target.kind in (Kind.NAMES, Kind.FUNCTIONS):
            return home_shard(target.db, count)
        here = (number for number in range(count) if self.source.shard(number) is not None)
        return next(here, 0)

    def reader(self, number: int) -> ShardReader | None:
        """A moment not before this call; None when the shard isn't here."""
        shard = self.source.shard(number)
        if shard is None:
            self._readers.pop(number, None)
            return None
        position = shard.position
        known = self._readers.get(number)
        if known is not None and known[0] is shard and known[1] == position:
            return known[2]
        view = shard.snapshot()
        if view is None:
            self._readers.pop(number, None)
            return None
        reader = ShardReader(view)
        self._readers[number] = shard, position, reader
        return reader

    def own_reader(self, number: int) -> ShardReader | None:
        """One that nobody shares, for another thread."""
        shard = self.source.shard(number)
        view = None if shard is None else shard.snapshot()
        return None if view is None else ShardReader(view)

    @property
    def reached(self) -> Position:
        """The furthest of the shards that are here."""
        positions = (
            Position(shard.position.epoch, shard.position.applied)
            for number in range(self.source.count)
            if (shard := self.source.shard(number)) is not None
        )
        return max(positions, default=Position(0, 0))


_SCOPES = {
    Kind.NAMES: ScopeKind.NAMES,
    Kind.FUNCTIONS: ScopeKind.NAMES,
    Kind.DATABASE: ScopeKind.DATABASES,
    Kind.DATABASES: ScopeKind.DATABASES,
}


def scope_of(target: Target) -> Scope:
    """What must be loaded so that the target becomes warm."""
    kind = _SCOPES.get(target.kind, ScopeKind.TABLE)
    name = target.name._replace(db="") if kind is ScopeKind.DATABASES else target.name
    return Scope(kind, name)
