"""The part of the log that this process has seen; it reveals a change of the database's history."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from hive.events.row import row_mark
from hive.names import TableName
from query_api.latest.latest_log import ThinRow
from query_api.latest.row_effects import EVERYTHING, WITH_MESSAGE, RowEffects, effects_of
from state.records.epochs import follows

KEPT_ROWS: Final = 4096

_Mark = tuple[int, str, str | None, str | None]
AppliedMarks = Callable[[int], Mapping[int, int]]
"""Returns the marks of the last events that shards have applied in an epoch, by their ids."""


class LogHistory:
    """The thin rows seen in the highest epoch, and whether the database still has that history.

    1. Each row is decoded once.
    2. When the database turns out to be older than an epoch's shards, or to have another history,
       the epoch is rewound for good: only an epoch that follows it is served again.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._rewound = -1
        self._rows: dict[int, tuple[_Mark, RowEffects]] = {}
        self.former_names: dict[TableName, tuple[TableName, ...]] = {}
        """Former names of renamed tables, which rows may still use."""
        self._oldest = self._newest = 0
        self._applied_marks: AppliedMarks = lambda epoch: {}

    def follow(self, applied_marks: AppliedMarks) -> None:
        """Begins to compare the database with what these shards have learned from the topic."""
        self._applied_marks = applied_marks

    def is_rewound(self, epoch: int) -> bool:
        return self._rewound >= 0 and not follows(epoch, self._rewound)

    def known_up_to(self, first: int) -> int:
        """The event up to which rows from `first` on are known, so that their messages aren't
        needed again.
        """
        return self._newest if first >= self._oldest else first - 1

    def check_position(self, epoch: int, applied: int, current: int) -> None:
        """Checks a shard's position: `applied` was reached before the read that showed `current`
        began.
        """
        if current < applied:
            self._rewind(epoch)

    def check_rows(self, epoch: int, rows: Sequence[ThinRow]) -> None:
        """Checks the rows of the last events that shards have applied: the database may have lost
        these events, and have others with their ids since.
        """
        marks = self._applied_marks(epoch)
        for row in rows:
            mark = marks.get(row.event_id)
            if mark is not None and mark != row_mark(row):
                self._rewind(epoch)

    def note(self, epoch: int, rows: Sequence[ThinRow]) -> list[tuple[int, RowEffects]]:
        """The effects of these rows. One that differs from what was seen before proves another
        history.
        """
        if follows(epoch, self._epoch):
            self._epoch = epoch
            self._rows.clear()
            self._oldest = self._newest = 0
        if not rows:
            return []
        noted = [(row.event_id, self._touched_by(row)) for row in rows]
        self._newest = max(self._newest, rows[-1].event_id)
        self._oldest = min(self._oldest or rows[0].event_id, rows[0].event_id)
        if len(self._rows) > 2 * KEPT_ROWS:
            kept = sorted(self._rows)[-KEPT_ROWS:]
            self._rows = {event: self._rows[event] for event in kept}
            self._oldest = kept[0]
        return noted

    def _rewind(self, epoch: int) -> None:
        if not self.is_rewound(epoch):
            self._rewound = epoch

    def _touched_by(self, row: ThinRow) -> RowEffects:
        mark = (row.event_time, row.event_type, row.db_name, row.tbl_name)
        seen = self._rows.get(row.event_id)
        if seen is not None:
            if seen[0] != mark:
                self._rewind(self._epoch)
            return seen[1]
        if row.event_type in WITH_MESSAGE and not row.message:
            return EVERYTHING
        effects = effects_of(row)
        self._rows[row.event_id] = mark, effects
        return effects
