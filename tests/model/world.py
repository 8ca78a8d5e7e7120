"""A whole toy deployment: a metastore, connectors, loads, a topic and its folded shards.

An example is a list of steps. A step is a name and a few small numbers, which choose among what
there is to choose from when the step comes; one for which there is nothing to do does nothing.
"""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from hive.names import TableName
from processors.fold import Fold
from state.records import (
    AnyRecord,
    LoadBegin,
    OpenTransactions,
    Pause,
    Reread,
    ResetTable,
    Scope,
    ScopeKind,
    SetLists,
)
from state.records.routing import table_shard
from state.shard_reader import ShardReader
from state.store import MemoryStore, StorePosition
from tests.model import changes, details, record_lines
from tests.model.choices import Choices
from tests.model.loads import Load, places, reread, table_scope
from tests.model.metastore import TABLES, History, Metastore, Moment
from tests.model.topic import SHARDS, Publisher, Topic

PUBLISHERS: Final = 3

Check = Callable[["World", int], None]


class Step(NamedTuple):
    name: str
    numbers: tuple[int, ...] = ()


class Shard:
    """The state of one shard, and what its fold has asked for."""

    def __init__(self) -> None:
        self.store = MemoryStore()
        self.signals: dict[Scope, int] = {}
        self._txn = self.store.transaction()
        self._fold = Fold(self._txn)

    @property
    def reader(self) -> ShardReader:
        return ShardReader(self.store.snapshot())

    def doubtful(self) -> list[tuple[TableName, list[tuple[str, ...]]]]:
        """The tables with objects in doubt, and these."""
        reader = self.reader
        states = ((name, reader.state(name)) for name in reader.table_names())
        return [
            (name, sorted(state.doubtful)) for name, state in states if state and state.doubtful
        ]

    def answer(self, scope: Scope) -> None:
        """A load has begun since that was asked for; one of a table brings its write ids."""
        self.signals.pop(scope, None)
        if scope.kind is ScopeKind.TABLE:
            self.signals.pop(Scope(ScopeKind.WRITE_IDS, scope.name), None)

    def skip(self) -> None:
        """A record comes that can't be read, and is skipped by order."""
        self._fold.skip()
        self.signals.clear()
        assert self._fold.flush() == []
        self._commit()

    def fold(self, *records: AnyRecord) -> None:
        for record in records:
            if isinstance(record, LoadBegin):
                self.answer(record.scope)
            if isinstance(record, Reread):
                self.answer(Scope(ScopeKind.OBJECTS, record.table))
            self._fold.apply(record)
        for signal in self._fold.flush():
            self.signals[signal.scope] = signal.floor
        self._commit()

    def _commit(self) -> None:
        self.store.commit(
            self._txn, StorePosition(epoch=self._fold.epoch, applied=self._fold.applied)
        )


class World:
    """After each record, `check` sees what has become of its shard."""

    def __init__(self, check: Check, *, names_ids: bool = True) -> None:
        self.store = Metastore(names_ids=names_ids)
        self.shards = [Shard() for _ in range(SHARDS)]
        self.topic = Topic(self._deliver)
        self.publishers = [Publisher(self.store, self.topic) for _ in range(PUBLISHERS)]
        self.loads: list[Load] = []
        self._check = check
        self._seen_open: list[OpenTransactions] = []
        self._read_again: list[tuple[int, Reread]] = []
        self._unreadable: set[int] = set()
        self._numbers = 0

    def run(self, steps: Sequence[Step]) -> None:
        """What goes wrong carries the whole story with it."""
        try:
            for name, numbers in steps:
                STEPS[name](self, Choices(numbers))
        except Exception as error:
            error.add_note("\n".join(self.store.story))
            raise

    def history(self, epoch: int) -> History:
        """What the database said in an epoch of the topic."""
        return self.store.histories[self.topic.histories[epoch]]

    def _deliver(self, shard: int, record: AnyRecord) -> None:
        line = f"    shard {shard} ← {record_lines.record(record)}"
        if shard in self._unreadable:
            self._unreadable.discard(shard)
            self.store.story.append(f"{line}, which can't be read")
            self.shards[shard].skip()
            self._check(self, shard)
            # Operators let it serve again, whatever the record was.
            record = Pause(self.topic.epoch, self.number(), paused=False)
            self.shards[shard].fold(record)
        else:
            self.store.story.append(line)
            self.shards[shard].fold(record)
        self._check(self, shard)

    def number(self) -> int:
        self._numbers += 1
        return self._numbers

    @property
    def _up_to_date(self) -> bool:
        """Whether the newest epoch is of the database that is there now."""
        return self.topic.histories[-1] == self.store.epoch

    def publish(self, picks: Choices) -> None:
        publisher = picks.of(self.publishers)
        count = picks.of([1, 2, 4, 100])
        killed = picks.below(8) == 7
        records_max = picks.below(4) if killed else 1000
        publisher.publish(count, blind=picks.below(8) == 7, records_max=records_max)

    def resume(self, picks: Choices) -> None:
        picks.of(self.publishers).resume()

    def progress(self, picks: Choices) -> None:
        picks.of(self.publishers).progress()

    def begin_load(self, picks: Choices) -> Load | None:
        """Often of a table that is there."""
        if not self._up_to_date:
            return None
        there = [table_scope(table) for table in self.store.now.content.tables]
        likely = [place for place in places() if place[1] in there] * 12
        shard, scope = picks.of([*likely, *places()])
        load = self.new_load(shard, scope)
        load.begin(self.topic)
        self.loads.append(load)
        return load

    def new_load(self, shard: int, scope: Scope) -> Load:
        return Load(f"L{self.number()}", self.topic.epoch, self.store.epoch, shard, scope)

    def load(self, picks: Choices) -> None:
        """A whole load, from one moment."""
        load = self.begin_load(picks)
        if load is not None:
            self.loads.remove(load)
            self.complete(load)

    def load_behind(self, picks: Choices) -> None:
        """A whole load from a replica, or a former primary, that lacks the last events."""
        load = self.begin_load(picks)
        if load is not None:
            self.loads.remove(load)
            moments = self.store.history.moments
            self.complete(load, moments[-1 - picks.below(min(len(moments), 16))])

    def complete(self, load: Load, moment: Moment | None = None) -> None:
        """Reads all of it at a moment, now if none is given, and ends it."""
        load.read(moment or self.store.now, load.portions)
        for number in range(load.portions):
            load.send(self.topic, number)
        load.end(self.topic)

    def go_on_load(self, picks: Choices) -> None:
        """One that has begun reads more, or sends what it has, or ends, or is given up."""
        self.loads = [load for load in self.loads if load.history == self.store.epoch]
        if not self.loads:
            return
        load = picks.of(self.loads)
        if not load.read_all:
            load.read(self.store.now, picks.of([100, 100, 1, 3]))
            return
        missing = [n for n in range(load.portions) if n not in load.sent]
        what = picks.below(8)
        if missing and what < 7:
            for number in missing if what < 4 else picks.some(missing):
                load.send(self.topic, number)
        elif load.sent and what == 6:
            load.send(self.topic, picks.of(sorted(load.sent)))
        else:
            self.loads.remove(load)
            if picks.below(8) < 7:
                load.end(self.topic)

    def read_again(self, picks: Choices) -> None:
        """A connector reads what a shard's fold has asked for; it publishes that later."""
        shard = picks.below(SHARDS)
        doubtful = self.shards[shard].doubtful()
        if doubtful and self._up_to_date:
            name, objects = picks.of(doubtful)
            record = reread(self.store.now, self.topic.epoch, name, picks.some(objects))
            self._read_again.append((shard, record))

    def tell_again(self, picks: Choices) -> None:
        if not self._read_again:
            self.read_again(picks)
        if self._read_again:
            shard, record = self._read_again.pop(0)
            self.topic.send(shard, record)

    def reread(self, shard: int, name: TableName) -> None:
        """Everything of a table that is in doubt, from one moment."""
        objects = dict(self.shards[shard].doubtful()).get(name, ())
        self.topic.send(shard, reread(self.store.now, self.topic.epoch, name, objects))

    def see_open(self, picks: Choices) -> None:
        """A connector reads which transactions are open; it publishes that when it comes to it."""
        if self._up_to_date:
            now = self.store.now
            self._seen_open.append(OpenTransactions(self.topic.epoch, now.event, tuple(now.open)))

    def tell_open(self, picks: Choices) -> None:
        if not self._seen_open:
            self.see_open(picks)
        if self._seen_open:
            record = self._seen_open.pop(0)
            for shard in range(SHARDS):
                self.topic.send(shard, record)

    def repeat(self, picks: Choices) -> None:
        """An old record of events comes again."""
        shard = picks.below(SHARDS)
        old = [r for r in self.topic.shards[shard][-20:] if type(r).__name__ == "Change"]
        if old:
            self.topic.send(shard, picks.of(old))

    def reset_table(self, picks: Choices) -> None:
        if self._up_to_date:
            table = picks.of(TABLES)
            record = ResetTable(self.topic.epoch, self.store.now.event, table)
            self.topic.send(table_shard(table, SHARDS), record)

    def damage(self, picks: Choices) -> None:
        """The next record of a shard can't be read, now and then: everything is cold after it."""
        shard = picks.below(SHARDS)
        if not picks.below(4):
            self._unreadable.add(shard)

    def set_lists(self, picks: Choices) -> None:
        black = picks.of([(), ("a.s",), ("b.*",)])
        white = picks.of([(), (), ("a.*",)])
        record = SetLists(self.topic.epoch, self.number(), white, black)
        for shard in range(SHARDS):
            self.topic.send(shard, record)

    def pause(self, picks: Choices) -> None:
        record = Pause(self.topic.epoch, self.number(), picks.of([False, True]))
        for shard in range(SHARDS):
            self.topic.send(shard, record)

    def clean_log(self, picks: Choices) -> None:
        """The cleaner deletes the oldest events, read or not."""
        kept = picks.of([0, 1, 5])
        newest = max(self.store.retained_from, self.store.now.event + 1 - kept)
        self.store.retained_from = newest

    def restore(self, picks: Choices) -> None:
        """The database is put back to an earlier event."""
        history = self.store.history
        lost = picks.of([0, 1, 2, 5, 10])
        self.store.restore(max(history.base, self.store.now.event - lost))


def _in_store(change: Callable[[Metastore, Choices], None]) -> Callable[[World, Choices], None]:
    return lambda world, picks: change(world.store, picks)


STEPS: Final[dict[str, Callable[[World, Choices], object]]] = {
    "publish": World.publish,
    "progress": World.progress,
    "resume": World.resume,
    "load": World.load,
    "load_behind": World.load_behind,
    "begin_load": World.begin_load,
    "go_on_load": World.go_on_load,
    "read_again": World.read_again,
    "tell_again": World.tell_again,
    "see_open": World.see_open,
    "tell_open": World.tell_open,
    "repeat": World.repeat,
    "reset_table": World.reset_table,
    "damage": World.damage,
    "set_lists": World.set_lists,
    "pause": World.pause,
    "clean_log": World.clean_log,
    "restore": World.restore,
    **{
        change.__name__: _in_store(change)
        for change in (
            changes.create_table,
            changes.drop_table,
            changes.rename_table,
            changes.alter_table,
            changes.alter_renamed,
            changes.create_database,
            changes.alter_database,
            changes.drop_database,
            changes.create_function,
            changes.drop_function,
            changes.unreadable,
            details.add_partitions,
            details.alter_partition,
            details.alter_partitions,
            details.drop_partitions,
            details.update_statistics,
            details.delete_statistics,
            details.add_constraint,
            details.drop_constraint,
            details.begin,
            details.allocate,
            details.allocate_again,
            details.end,
            details.purge,
            details.restart_ids,
        )
    },
}
