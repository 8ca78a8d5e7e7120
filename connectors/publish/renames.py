"""Recent renames of tables, for events that still name a table by its old name.

A writer may read a table before a rename and commit after it. Its write changes the renamed table,
because the metastore knows tables by their ids, but its event has the old name.
"""

from collections import deque
from collections.abc import Callable, Iterable
from itertools import chain
from operator import attrgetter
from typing import NamedTuple

import msgspec

from connectors.publish.translate import Addressed, misnamed, translate, undecodable
from hive.errors import EventError
from hive.events import event_types
from hive.events.decode import decode
from hive.events.row import NotificationRow
from hive.names import TableName, table_name
from state.records.actions import MISNAMED_EVENTS_MAX, AnyAction, RenameTable

_HANGING = (
    event_types.AddConstraints,
    event_types.DropConstraint,
    event_types.DeleteTableStatistics,
    event_types.DeletePartitionStatistics,
)
"""Events that change nothing in the table itself."""
_OF_CURRENT_NAME = (event_types.CreateTable, event_types.AllocateWriteIds)
"""Events that never have the old name of a table."""


class _Rename(NamedTuple):
    event_id: int
    old: TableName
    new: TableName
    id: int
    """The id of the table; 0 when the event lacks it."""


class _Current(NamedTuple):
    """The names that a table may have now, and whether it certainly doesn't have its old one."""

    names: list[TableName]
    is_renamed: bool


_ByName = dict[TableName, deque[_Rename]]


class Renames:
    """The renames of the last `MISNAMED_EVENTS_MAX` events.

    Every connector knows the same renames, wherever it began: at its start it reads the log's rows
    from before its first event.
    """

    def __init__(self, rows: Iterable[NotificationRow] = ()) -> None:
        self._renames: deque[_Rename] = deque()
        self._by_old: _ByName = {}
        self._by_new: _ByName = {}
        for row in rows:
            try:
                event = decode(row)
            except EventError:
                continue
            if isinstance(event, event_types.AlterTable) and event.renamed:
                self._forget_before(event.event_id - MISNAMED_EVENTS_MAX)
                self._note(event, self._current(event.before, event.image.id))

    def address(self, event: event_types.Event) -> list[Addressed]:
        """The effects of an event, addressed to tables by their current names."""
        addressed = translate(event)
        if not (addressed and isinstance(event, event_types.TableEvent)):
            return addressed
        if _name_before(event) in self._by_old:
            self._forget_before(event.event_id - MISNAMED_EVENTS_MAX)
            addressed = self._to_new_names(event, addressed)
        if isinstance(event, event_types.AlterTable) and event.renamed:
            self._forget_before(event.event_id - MISNAMED_EVENTS_MAX)
            current = self._current(event.before, event.image.id)
            former = self._former_names(event, current)
            addressed = [(address, _with_former(action, former)) for address, action in addressed]
            self._note(event, current)
        return addressed

    def undecodable(self, row: NotificationRow) -> list[Addressed]:
        """The effects that an undecodable row may have had."""
        self._forget_before(row.event_id - MISNAMED_EVENTS_MAX)
        addressed = undecodable(row)
        if row.db_name and row.tbl_name:
            current = self._current(table_name(row.cat_name, row.db_name, row.tbl_name), 0)
            addressed += [action for table in current.names for action in misnamed(table)]
        return addressed

    def _to_new_names(
        self, event: event_types.TableEvent, addressed: list[Addressed]
    ) -> list[Addressed]:
        if isinstance(event, _OF_CURRENT_NAME):
            return addressed
        current = self._current(_name_before(event), _id_of(event))
        if current.is_renamed and not (isinstance(event, event_types.AlterTable) and event.renamed):
            # If a table has the old name now, it is another one.
            addressed = []
        hanging = isinstance(event, _HANGING)
        late = (misnamed(table, hanging=hanging) for table in current.names)
        return [*addressed, *chain.from_iterable(late)]

    def _current(self, name: TableName, id_: int) -> _Current:
        """The names that a table of this name and id may have now."""
        names: list[TableName] = []
        is_renamed = False
        followed = {name}
        for rename in _linked(self._by_old, [name], id_, attrgetter("new")):
            if rename.old not in followed:
                continue
            followed.add(rename.new)
            names.append(rename.new)
            if rename.new == name:
                # The table has its old name again.
                names, is_renamed, followed = [], False, {name}
            elif id_ and rename.id == id_:
                is_renamed = True
        return _Current([table for table in dict.fromkeys(names) if table != name], is_renamed)

    def _former_names(
        self, event: event_types.AlterTable, current: _Current
    ) -> tuple[TableName, ...]:
        """The names by which late events may call the table that an event renames, besides the one
        that it had for the event's writer."""
        names = {event.before, *current.names}
        for rename in reversed(_linked(self._by_new, names, event.image.id, attrgetter("old"))):
            if rename.new in names:
                names.add(rename.old)
        return tuple(sorted(names - {event.before, event.table}))

    def _note(self, event: event_types.AlterTable, current: _Current) -> None:
        """Notes a rename, also of the names that the table has got since its writer had read it."""
        for old in (event.before, *current.names):
            if old != event.table:
                rename = _Rename(event.event_id, old, event.table, event.image.id)
                self._renames.append(rename)
                self._by_old.setdefault(old, deque()).append(rename)
                self._by_new.setdefault(event.table, deque()).append(rename)

    def _forget_before(self, event_id: int) -> None:
        while self._renames and self._renames[0].event_id < event_id:
            rename = self._renames.popleft()
            for by_name, name in ((self._by_old, rename.old), (self._by_new, rename.new)):
                by_name[name].popleft()
                if not by_name[name]:
                    del by_name[name]


def _linked(
    by_name: _ByName, names: Iterable[TableName], id_: int, other: Callable[[_Rename], TableName]
) -> list[_Rename]:
    """The renames that lead from these names to others and on from there, in their order: those
    that may be of the table with this id."""
    renames: list[_Rename] = []
    reached = set(names)
    left = list(reached)
    while left:
        for rename in by_name.get(left.pop(), ()):
            if _may_be_one(rename.id, id_):
                renames.append(rename)
                if other(rename) not in reached:
                    reached.add(other(rename))
                    left.append(other(rename))
    return sorted(renames)


def _may_be_one(id_: int, other_id: int) -> bool:
    """Whether two ids, either of which may be unknown, may be those of one table."""
    return not (id_ and other_id) or id_ == other_id


def _with_former(action: AnyAction, former: tuple[TableName, ...]) -> AnyAction:
    return msgspec.structs.replace(action, former=former) if type(action) is RenameTable else action


def _name_before(event: event_types.TableEvent) -> TableName:
    """The name of the event's table before the event."""
    return event.before if isinstance(event, event_types.AlterTable) else event.table


def _id_of(event: event_types.TableEvent) -> int:
    """The id of the table that the writer changed; 0 when the event lacks it."""
    match event:
        case event_types.AlterTable():
            return event.image.id
        case event_types.DropTable():
            return event.id
        case event_types.PartitionEvent():
            return 0 if event.table_before is None else event.table_before.id
        case event_types.UpdateTableStatistics():
            return 0 if event.image is None else event.image.id
    return 0
