"""The change of one table by one event: what is written, deleted and put in doubt by it."""

from msgspec import Struct

from hive.names import TableName
from processors.fold import entries
from processors.fold.entries import Replaced
from processors.fold.working_set import WorkingSet
from state import keys
from state.entries import Entry, Mark
from state.loads import Doubt
from state.records import Scope, ScopeKind
from state.tables import DOUBTFUL_MAX, Doubtful, TableState


class TableChange(Struct, frozen=True):
    """A table, its state, and the event that changes it."""

    work: WorkingSet
    name: TableName
    state: TableState
    event: int

    @property
    def is_watched(self) -> bool:
        """Whether there may be statistics, here or in the rows of an open load."""
        return self.state.detailed or self.state.loads.open is not None

    def put(
        self,
        key: bytes,
        data: bytes,
        write_id: int = 0,
        columns_hash: int = 0,
        mark: Mark = Mark.LIVE,
    ) -> bool:
        """Writes an object of the table; False when its entry reflects the event already."""
        loads = self.state.loads
        return entries.put(self.work, loads, key, self.event, data, write_id, columns_hash, mark)

    def replace(self, key: bytes, entry: Entry, before: int | None) -> Replaced:
        """Writes an object of the table as the event left it, if the database holds that."""
        return entries.replace(self.work, self.state.loads, key, entry, before)

    def delete(self, key: bytes) -> None:
        """Deletes an object of the table."""
        entries.delete(self.work, self.state.loads, key, self.event)

    def delete_below(self, prefix: bytes) -> bool:
        """Deletes the objects below a prefix; True when there were any."""
        return entries.delete_below(self.work, self.state.loads, prefix, self.event)

    def clear(self, kinds: tuple[bytes, ...]) -> None:
        """Deletes all objects of these kinds as of the event, which raises the floor."""
        for kind in kinds:
            entries.clear(self.work, self.state.loads, keys.of_table(kind, self.name), self.event)

    def doubt(self, doubt: Doubt) -> None:
        """Makes the table's rows unknown from the event on."""
        self.state.loads.raise_floor(self.event, doubt)
        self.state.doubtful.clear()
        self.work.signal(Scope(ScopeKind.TABLE, self.name), self.event)

    def doubt_object(self, values: tuple[str, ...], *, ordered: bool = False) -> None:
        """Makes the table's row, or one partition, unknown from the event on."""
        values, doubtful = keys.named_values(values), self.state.doubtful
        room = values in doubtful or len(doubtful) < DOUBTFUL_MAX
        if not self.state.loads.complete(self.work.head.floor) or not room:
            self.doubt(Doubt.CONFLICT)
            return
        doubtful[values] = Doubtful(self.event, ordered)
        self.work.signal(Scope(ScopeKind.OBJECTS, self.name), self.event)

    def doubt_statistics(self, doubt: Doubt) -> None:
        """Makes the table's statistics unknown from the event on."""
        if self.event >= self.state.statistics_floor:
            self.state.statistics_floor = self.event
            self.state.statistics_doubt = doubt
        self.work.signal(Scope(ScopeKind.TABLE, self.name), self.event)


def change_of(work: WorkingSet, name: TableName, event: int) -> TableChange:
    """The change of a table by an event; marks the table's state as changed."""
    return TableChange(work, name, work.touch_table(name), event)
