"""The interface to the shards, as the worker provides them to the server."""

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple, Protocol

from hive.names import TableName
from query_api.elapsed import elapsed_s
from query_api.hot_tables import HotTables, SharedReader
from query_api.plain_tables import OwnReader, PlainTables
from query_api.positions import Position
from query_api.targets import Target, TargetKind
from state import keys
from state.kv import View
from state.records import Scope, ScopeKind
from state.records.epochs import follows
from state.records.routing import shards_of, table_shard
from state.records.table_lists import is_cached
from state.shard_head import ShardHead
from state.shard_reader import ShardReader
from state.store import Commits, StorePosition

EPOCH_LOOK_S: Final = 0.1
"""How often the topic's epoch is looked up for answers from shards: each asks whether its own is
over."""


class Shard(Protocol):
    """A shard that this worker writes."""

    @property
    def position(self) -> StorePosition:
        """The position of the last commit; cheap to read."""
        ...

    @property
    def commits(self) -> Commits | None:
        """The commits of the store that `snapshot` reads."""
        ...

    def snapshot(self) -> View | None:
        """A snapshot at this position or a later one; None while nothing can be read."""
        ...

    async def complete_up_to(self, epoch: int, event: int, timeout_s: float) -> bool:
        """Waits until the shard has applied all events up to this one; False means a timeout."""
        ...


class ShardSource(Protocol):
    """The shards, and which worker holds each."""

    @property
    def count(self) -> int: ...

    @property
    def epoch(self) -> int | None:
        """The epoch that the topic has reached, as far as this process has learned, whichever
        shards are here; None as long as it hasn't."""
        ...

    def shard(self, number: int) -> Shard | None:
        """The shard; None if another worker has it, or if it isn't ready."""
        ...

    def owner_url(self, number: int) -> str | None:
        """The HTTP address of the shard's owner; None if unknown."""
        ...

    def ask_for_load(self, shard: int, scope: Scope, floor: int) -> None:
        """Requests a load of a scope that is cold in a shard here, without waiting for it. Other
        shards that have the scope, too, may have it warm."""
        ...


class Moment(NamedTuple):
    """The state that an answer was read from: targets in one shard, at one commit."""

    shard: int
    targets: tuple[Target, ...]
    reached: Position
    commits: Commits
    commit: int
    mark: int = 0
    """The mark of the row of the last event that is reached; 0 if it isn't known."""


class _ReaderAtCommit(NamedTuple):
    """A reader, and the earliest commit that it may show."""

    commits: Commits
    commit: int
    reader: ShardReader


class Views:
    """A reader for each shard, which all requests between two commits share.

    Only the thread of the event loop may use it.
    """

    def __init__(self, source: ShardSource) -> None:
        self.source = source
        self._readers: dict[int, _ReaderAtCommit] = {}
        self._hot_tables = HotTables()
        self._plain_tables = PlainTables()
        self._epoch: int | None = None
        self._looks_s = 0.0
        """When the topic's epoch is to be looked up next."""

    def shard_of(self, target: Target) -> int:
        """The shard that knows the target. Every shard knows the databases, so any one held here
        will do.
        """
        if target.is_of_table:
            return self.shard_of_table(target.name)
        shards = shards_of(scope_of(target), self.source.count)
        if len(shards) == 1:
            return shards[0]
        here = {number: shard for number in shards if (shard := self.source.shard(number))}
        served = (number for number, shard in here.items() if shard.commits is not None)
        return next(served, next(iter(here), shards[0]))

    def shard_of_table(self, table: TableName) -> int:
        return table_shard(table, self.source.count)

    def reader(self, number: int) -> ShardReader | None:
        """A reader no older than this call; None if the shard isn't here."""
        shard = self.source.shard(number)
        commits = None if shard is None else shard.commits
        if shard is None or commits is None:
            self._readers.pop(number, None)
            return None
        commit, newest = commits.count, self._readers.get(number)
        if newest is not None and newest.commits is commits and newest.commit == commit:
            return newest.reader
        view = shard.snapshot()
        if view is None:
            self._readers.pop(number, None)
            return None
        reader = SharedReader(view, self._hot_tables, commits, commit)
        self._readers[number] = _ReaderAtCommit(commits, commit, reader)
        return reader

    def let_serve(self, targets: Iterable[Target], epoch: int) -> bool:
        """Whether what another worker's shard has of these targets may be served, by the orders
        that every shard gets, each at a time of its own: a pause, lists of tables, a reset. Without
        a shard here nobody knows.
        """
        tables = [target.name for target in targets if target.is_of_table]
        heads = [head for head in map(self._orders, range(self.source.count)) if head]
        return bool(heads) and all(
            not head.paused
            and head.epoch <= epoch
            and all(is_cached(head.whitelist, head.blacklist, table) for table in tables)
            for head in heads
        )

    def _orders(self, number: int) -> ShardHead | None:
        """The head of a shard, whose last event may be an earlier one: a new snapshot after each
        commit would cost more than the rest of a cached answer. None if the shard isn't here."""
        shard, newest = self.source.shard(number), self._readers.get(number)
        if shard is None:
            return None
        is_same_store = newest is not None and newest.commits is shard.commits
        if newest is not None and is_same_store and newest.commits.untouched((), newest.commit):
            return newest.reader.head
        reader = self.reader(number)
        return None if reader is None else reader.head

    def moment(
        self, number: int, reader: ShardReader, targets: tuple[Target, ...]
    ) -> Moment | None:
        """The moment that a reader shows; None if the shard has had commits since."""
        if self.reader(number) is not reader:
            return None
        newest = self._readers[number]
        reached = Position(reader.head.epoch, reader.head.applied)
        return Moment(number, targets, reached, newest.commits, newest.commit, reader.head.mark)

    def renewed(self, moment: Moment) -> Moment | None:
        """The moment brought up to date; None if any of its targets may have changed."""
        shard = self.source.shard(moment.shard)
        if shard is None or shard.commits is not moment.commits:
            return None
        # Whatever is counted and reached here was noted before, so the check below includes it.
        commit, position = moment.commits.count, shard.position
        if commit == moment.commit:
            return moment
        if not moment.commits.untouched(map(_group_of, moment.targets), moment.commit):
            return None
        reached = Position(position.epoch, position.applied)
        return moment._replace(reached=reached, commit=commit, mark=position.mark)

    def own_reader(self, number: int) -> ShardReader | None:
        """A reader that isn't shared, for another thread."""
        shard = self.source.shard(number)
        commits = None if shard is None else shard.commits
        if shard is None or commits is None:
            return None
        commit, view = commits.count, shard.snapshot()
        return None if view is None else OwnReader(view, self._plain_tables, commits, commit)

    @property
    def reached(self) -> Position:
        """The highest position of the shards that are here; the beginning of the topic's epoch if
        none of them has reached that."""
        return max((*self.positions(), Position(self.source.epoch or 0, 0)))

    @property
    def knows_epoch(self) -> bool:
        """Whether it is known to which epoch what the database has now belongs."""
        return self.source.epoch is not None

    def is_over(self, epoch: int) -> bool:
        """Whether the topic has reached a later epoch, with which shards forget everything. Those
        that have stopped, and images, haven't yet."""
        now_s = elapsed_s()
        if now_s >= self._looks_s:
            self._epoch, self._looks_s = self.source.epoch, now_s + EPOCH_LOOK_S
        begun = self._epoch
        return begun is not None and begun != epoch and follows(begun, epoch)

    def marks(self, epoch: int) -> dict[int, set[int]]:
        """The marks of the rows of the last events that the shards here have applied, by events of
        this epoch."""
        marks: dict[int, set[int]] = {}
        for number in range(self.source.count):
            shard = self.source.shard(number)
            if shard is not None:
                position = shard.position
                if position.epoch == epoch and position.mark:
                    marks.setdefault(position.applied, set()).add(position.mark)
        return marks

    def positions(self) -> Iterator[Position]:
        """The positions of the shards that are here."""
        for number in range(self.source.count):
            shard = self.source.shard(number)
            if shard is not None:
                yield Position(shard.position.epoch, shard.position.applied)


def _group_of(target: Target) -> bytes:
    """The group of keys that a target belongs to."""
    if target.is_of_table:
        return keys.table_suffix(target.name)
    if target.kind in (TargetKind.NAMES, TargetKind.FUNCTIONS):
        return keys.texts((target.name.catalog, target.name.db))
    return keys.texts((target.name.catalog,))


_SCOPES = {
    TargetKind.NAMES: ScopeKind.NAMES,
    TargetKind.FUNCTIONS: ScopeKind.NAMES,
    TargetKind.DATABASE: ScopeKind.DATABASES,
    TargetKind.DATABASES: ScopeKind.DATABASES,
    TargetKind.DATABASE_DETAILS: ScopeKind.DATABASES,
}


def scope_of(target: Target) -> Scope:
    """The scope that must be loaded to make a target warm."""
    kind = _SCOPES.get(target.kind, ScopeKind.TABLE)
    name = target.name._replace(db="") if kind is ScopeKind.DATABASES else target.name
    return Scope(kind, name)
