"""The loads of a table or of a list of names, and the doubts about what they brought."""

from enum import StrEnum

import msgspec

from state.records.objects import WriteIdsImage


class Doubt(StrEnum):
    """Why a scope that was known stopped being so."""

    NONE = ""
    DROPPED = "dropped"
    REWRITTEN = "rewritten"
    """An event changed partitions or statistics without saying how."""
    RENAMED = "renamed"
    TRUNCATED = "truncated"
    ENGINE_UNSAID = "engine_unsaid"
    """Statistics were deleted, and the log doesn't say of which engine."""
    MERGED = "merged"
    """Statistics replaced others that had more fields set, or that weren't known."""
    CONFLICT = "conflict"
    """Two writers changed an object at the same time: each event shows what one of them saw."""
    UNDECODABLE = "undecodable"
    RESET = "reset"
    VOID_LOAD = "void_load"
    """A load ended with a chunk missing, was overtaken by too many events, or had read less than
    one before it, or than was folded before it began."""


class Cold(StrEnum):
    """Why a scope can't be answered from the cache."""

    NEVER_LOADED = "never_loaded"
    LOADING = "loading"
    AHEAD = "ahead"
    """The load is newer than the applied position: the scope is warm once the events are folded."""
    DOUBT = "doubt"
    BROKEN_CHAIN = "broken_chain"
    """The whole shard misses events."""


class OpenLoad(msgspec.Struct, array_like=True):
    """A load between its Begin and its End."""

    id: str
    next: int = 0
    """All chunks with lower numbers have come."""
    early: list[int] = []
    """The numbers of the chunks that came before one with a lower number, sorted."""
    write_ids: WriteIdsImage | None = None
    """Write ids, kept for the End, which says between which events they were read."""
    deferred: int = 0
    """The number of events that wait for the load's rows, and of those kept for an earlier load."""
    row_before: int = 0
    """The `newest_row` before it began. Its own snapshot is later, unless the database has gone
    back and earlier loads have rows of a lost history."""
    applied: int = 0
    """The last event that was folded before it began. Its own snapshot shows no less, unless it is
    of a database that is behind: what was deleted in between has left no tombstones."""
    first: bool = False
    """Whether all entries of the table are its rows, as of `rows_at`: nothing was known of the
    table when it began, and no event has touched the table since. So a row needs no comparison with
    what is stored, and the End finds nothing to delete. Most rows that a store ever gets are
    such."""
    rows_at: int = -1
    """The `lo` of its rows; -1 before there is any."""

    def take(self, number: int) -> bool:
        """Notes a chunk; False when it has come before."""
        if number < self.next or number in self.early:
            return False
        self.early.append(number)
        self.early.sort()
        while self.early and self.early[0] == self.next:
            self.next += 1
            del self.early[0]
        return True

    def take_rows(self, lo: int) -> bool:
        """Notes rows as of `lo`; returns whether they must be compared with what is stored."""
        if self.rows_at not in (-1, lo):
            self.first = False
        self.rows_at = lo
        return not self.first

    def may_leave(self, lo: int) -> bool:
        """Whether there may be entries from before `lo`, at which it ends, or tombstones."""
        return not self.first or -1 < self.rows_at < lo


class EndedLoad(msgspec.Struct, frozen=True, array_like=True):
    """A load that brought everything, read between two events. A creation counts as one too."""

    id: str
    lo: int
    hi: int


class Loads(msgspec.Struct, array_like=True):
    """The loads of one scope.

    Invariants: 1. tombstones exist only between a load's Begin and its End, where deletions leave
    them; 2. no entry of the scope is newer than max(applied, `newest_row`); 3. the scope is warm if
    the last load that began has ended, no event above its `lo` casts doubt, and all events up to
    its `hi` are folded.
    """

    floor: int = 0
    """The last event whose effects can't be known."""
    doubt: Doubt = Doubt.NONE
    """The reason for the floor."""
    open: OpenLoad | None = None
    ended: EndedLoad | None = None
    newest_row: int = 0
    """The greatest `lo` of all stored rows."""
    silent_at: int = -1
    """The last event or row that listed a table without a type; an alter gives it one, and its
    event shows that type on both sides."""
    unended_row: int = 0
    """The greatest `lo` of rows whose load hasn't ended; 0 if there are none."""
    moved_at: int = -1
    """Of a list of names: the last event that moved a table into the database from another one,
    whose name late events may still use; -1 if none did."""

    def cold(self, applied: int, shard_floor: int) -> Cold | None:
        """Why the scope as a whole can't be answered; None when it is warm."""
        if self.open is not None:
            return Cold.LOADING
        if self.ended is None:
            return Cold.NEVER_LOADED if self.doubt is Doubt.NONE else Cold.DOUBT
        if self.ended.lo < shard_floor:
            return Cold.BROKEN_CHAIN
        if self.ended.lo < self.floor:
            return Cold.DOUBT
        return Cold.AHEAD if applied < self.ended.hi else None

    def describe(self, cold: Cold) -> str:
        """The reason in one word or two."""
        doubted = cold is Cold.DOUBT and self.doubt is not Doubt.NONE
        return f"{cold}: {self.doubt}" if doubted else str(cold)

    @property
    def silent(self) -> bool:
        """Whether an entry may have changed without an event since the last load read them all."""
        return self.ended is not None and self.silent_at >= self.ended.lo

    @property
    def begun(self) -> bool:
        """Whether a load has begun or ended: only then does an unreliable event matter."""
        return self.open is not None or self.ended is not None

    def complete(self, shard_floor: int) -> bool:
        """Whether a load has brought the whole scope since the last event that cast doubt on it."""
        if self.open is not None or self.ended is None:
            return False
        return self.ended.lo >= max(self.floor, shard_floor)

    def created(self, event: int) -> None:
        """Notes a creation: the scope is known as if a load had read it at this event."""
        ended = self.ended is None or self.ended.hi < event
        if self.open is None and ended and not self.may_include(event):
            self.ended = EndedLoad("", event, event)

    def include(self, at: int) -> None:
        """Notes that some objects were read at a later event, which the rest has yet to reach."""
        assert self.ended is not None
        self.newest_row = max(self.newest_row, at)
        if at > self.ended.hi:
            self.ended = msgspec.structs.replace(self.ended, hi=at)

    def raise_floor(self, event: int, doubt: Doubt) -> bool:
        """Makes everything up to this event unknown; False when the floor was higher already."""
        if event < self.floor:
            return False
        self.floor = event
        self.doubt = doubt
        return True

    def tells_alone(self, event: int, shard_floor: int) -> bool:
        """Whether an entry of this event can be served even from a cold scope: the event wrote all
        of it, and no later one has put it in doubt."""
        certain = event > self.newest_row and event >= max(self.floor, shard_floor)
        return self.open is None and certain

    def knows(self, event: int) -> bool:
        """Whether a load has read the whole scope after this event, so that the event brings no
        news."""
        return self.ended is not None and self.ended.lo >= max(self.floor, event)

    def may_include(self, event: int) -> bool:
        """Whether rows of a load may already reflect this event."""
        return self.newest_row >= event
