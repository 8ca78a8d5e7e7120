"""The part of the log that this process has seen; it reveals a change of the database's history."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from threading import Lock
from typing import Final, NamedTuple

from hive.events.row import row_mark
from query_api.latest.former_names import FormerNames
from query_api.latest.log_end import ROWS_MAX, ThinRow
from query_api.latest.row_effects import EVERYTHING, WITH_MESSAGE, RowEffects, effects_of
from state.records.epochs import follows

KEPT_ROWS: Final = 4096
COMPARED_ROWS: Final = 8
"""So many of the newest remembered rows are read again, to see that they are the same. One would
do: no database is put back and writes as many events in the second in which that was written."""

_Identity = tuple[int, str, str | None, str | None]
AppliedMarks = Callable[[int], Mapping[int, Collection[int]]]
"""Returns the marks of the last events that shards have applied in an epoch, by their ids. One id
has several if shards have applied events of several histories."""


class _RememberedRow(NamedTuple):
    """A row that was read."""

    identity: _Identity
    mark: int
    effects: RowEffects


class LogHistory:
    """The thin rows seen in the highest epoch, and whether the database still has that history.

    1. Each row is decoded once, and few are read more than once.
    2. When the database turns out to be older than an epoch's shards, or to have another history,
       the epoch is rewound for good: only an epoch that follows it is served again.
    3. Rows beyond what any shard has applied prove nothing about the shards. When a restored
       database has others in their place, they are forgotten: connectors that haven't published
       them begin no epoch.
    """

    def __init__(self) -> None:
        self._epoch = 0
        self._rewound = -1
        self._rows: dict[int, _RememberedRow] = {}
        self.former_names = FormerNames()
        self._oldest = self._newest = 0
        self._applied = (0, 0)
        """The highest epoch of a shard, and the furthest event that a shard has applied in it."""

        self._rising = Lock()
        """Held while what only rises does so: the event loop and audits check positions."""

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

    def unread_from(self, epoch: int, first: int) -> int:
        """The event from which on a reader that needs the rows from `first` on must read them: the
        rows before it are remembered.
        """
        start = self._newest - COMPARED_ROWS + 1
        if not first < start <= first + ROWS_MAX or follows(epoch, self._epoch):
            return first
        return start if all(event in self._rows for event in range(first, start)) else first

    def marks(self, events: Iterable[int]) -> dict[int, int]:
        """The marks of the rows of these events, as far as they are remembered."""
        return {event: self._rows[event].mark for event in events if event in self._rows}

    def has_lost(self, current: int) -> bool:
        """Whether the database has fewer events than are remembered."""
        return current < self._newest

    def check_position(self, epoch: int, applied: int, current: int) -> None:
        """Checks a shard's position: `applied` was reached before the read that showed `current`
        began.
        """
        self._note_applied(epoch, applied)
        if current < applied:
            self.rewind(epoch)

    def check_rows(self, epoch: int, rows: Sequence[ThinRow]) -> None:
        """Checks the rows of the last events that shards have applied: the database may have lost
        these events, and have others with their ids since.
        """
        marks = self._applied_marks(epoch)
        self._note_applied(epoch, max(marks, default=0))
        for row in rows:
            if any(mark != row_mark(row) for mark in marks.get(row.event_id, ())):
                self.rewind(epoch)

    def note(
        self, epoch: int, rows: Sequence[ThinRow], remembered: range = range(0)
    ) -> list[tuple[int, RowEffects]]:
        """The effects of rows that are remembered, and of these, which follow them. One that
        differs from what was seen before, and that a shard may have applied, proves another
        history.
        """
        if follows(epoch, self._epoch):
            self._epoch = epoch
            self._forget()
        if not rows:
            return []
        if not any(row.event_id in self._rows for row in rows):
            # Nothing says that these rows follow those that are remembered.
            self._forget()
        self._compare(rows)
        # None are left if there is another history.
        earlier = [(event, self._rows[event].effects) for event in remembered if self._rows]
        if earlier:
            self._check_remembered(epoch)
        noted = [(row.event_id, self._touched_by(row)) for row in rows]
        self._newest = max(self._newest, rows[-1].event_id)
        self._oldest = min(self._oldest or rows[0].event_id, rows[0].event_id)
        if len(self._rows) > 2 * KEPT_ROWS:
            events = sorted(self._rows)[-KEPT_ROWS:]
            self._rows = {event: self._rows[event] for event in events}
            self._oldest = events[0]
        return earlier + noted

    def _check_remembered(self, epoch: int) -> None:
        for event, marks in self._applied_marks(epoch).items():
            remembered = self._rows.get(event)
            if remembered is not None and any(mark != remembered.mark for mark in marks):
                self.rewind(epoch)

    def rewind(self, epoch: int) -> None:
        """Notes that the database doesn't have the history of an epoch."""
        with self._rising:
            if not self.is_rewound(epoch):
                self._rewound = epoch

    def _note_applied(self, epoch: int, event: int) -> None:
        with self._rising:
            highest, furthest = self._applied
            if epoch == highest:
                self._applied = epoch, max(event, furthest)
            elif follows(epoch, highest):
                self._applied = epoch, event

    def _forget(self) -> None:
        self._rows.clear()
        self._oldest = self._newest = 0

    def _compare(self, rows: Sequence[ThinRow]) -> None:
        """Compares rows with what was seen in their places before."""
        for row in rows:
            remembered = self._rows.get(row.event_id)
            if remembered is not None and remembered.identity != _identity_of(row):
                if (self._epoch, row.event_id) <= self._applied:
                    self.rewind(self._epoch)
                self._forget()
                return

    def _touched_by(self, row: ThinRow) -> RowEffects:
        remembered = self._rows.get(row.event_id)
        if remembered is not None:
            return remembered.effects
        if row.event_type in WITH_MESSAGE and not row.message:
            return EVERYTHING
        effects = effects_of(row)
        self._rows[row.event_id] = _RememberedRow(_identity_of(row), row_mark(row), effects)
        return effects


def _identity_of(row: ThinRow) -> _Identity:
    return row.event_time, row.event_type, row.db_name, row.tbl_name
