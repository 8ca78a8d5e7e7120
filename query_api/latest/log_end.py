"""The end of the notification log, as one read showed it."""

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Final

from hive.events.row import NotificationRow, row_mark
from hive.names import TableName
from query_api.facts import Current
from query_api.latest.row_effects import RowEffects
from query_api.positions import Position
from query_api.reasons import Reason
from query_api.targets import Target
from state.tables import ANY_TABLE

ThinRow = NotificationRow
"""A row whose message is empty if it isn't needed."""
ROWS_MAX: Final = 1000


def marks_of(rows: Iterable[ThinRow]) -> dict[int, int]:
    """The marks of rows, by their events."""
    return {row.event_id: row_mark(row) for row in rows}


class LogEnd:
    """The events that a read has shown, up to the one that was current."""

    def __init__(
        self,
        epoch: int,
        current: int,
        rows: Sequence[tuple[int, RowEffects]],
        former_names: Mapping[TableName, Sequence[TableName]] = MappingProxyType({}),
        marks: Mapping[int, int] = MappingProxyType({}),
    ) -> None:
        """`rows` are event ids in ascending order, with their effects; `marks` are those of their
        rows. An effect on a former name of a table counts for the table.
        """
        self.epoch = epoch
        self._marks = marks
        self._former_names = former_names
        self.current = current
        self._complete_after = current
        self._everything = self._last_of_any_table = 0
        self._tables: dict[TableName, int] = {}
        self._others: dict[Target, int] = {}
        for event, touched in reversed(rows):
            if event != self._complete_after:
                break
            self._complete_after = event - 1
            self._add(event, touched)

    def about(self, target: Target, applied: int) -> Current:
        """Whether a target that is complete up to `applied` is complete up to the current event."""
        if applied >= self.current:
            return Current(self.current)
        if applied < self._complete_after:
            return Current(self.current, Reason.GAP)
        last = max(self._last_of(target), self._everything)
        return Current(self.current, Reason.BEHIND if last > applied else None)

    def _last_of(self, target: Target) -> int:
        """The last event that touched a target, under any of its names; 0 if none did."""
        if not target.is_of_table:
            last = self._others.get(target, 0)
            has_former_names = target.has_former_names and target.name in self._former_names
            return max(last, self._last_of_any_table) if has_former_names else last
        names = (target.name, *self._former_names.get(target.name, ()))
        if ANY_TABLE in names:
            return self._last_of_any_table
        return max(self._tables.get(name, 0) for name in names)

    def mark_of(self, reached: Position) -> int:
        """The mark of the row of an event; 0 if the read didn't show it."""
        return self._marks.get(reached.event, 0) if reached.epoch == self.epoch else 0

    def denies(self, reached: Position, mark: int) -> bool:
        """Whether the database has another row in the place of the last event of a snapshot, which
        has this mark; 0 if that isn't known."""
        return 0 not in (mark, seen := self.mark_of(reached)) and seen != mark

    def leaves(self, targets: Iterable[Target], reached: Position) -> bool:
        """Whether no event after `reached` can have touched targets; False in another epoch."""
        epoch, event = reached
        return self.epoch == epoch and (
            event >= self.current
            or all(self.about(target, event).blocked is None for target in targets)
        )

    def _add(self, event: int, touched: RowEffects) -> None:
        if touched.everything:
            self._everything = max(event, self._everything)
        if touched.tables:
            self._last_of_any_table = max(event, self._last_of_any_table)
        for table in touched.tables:
            self._tables.setdefault(table, event)
        for target in touched.others:
            self._others.setdefault(target, event)
