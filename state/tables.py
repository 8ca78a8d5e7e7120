"""The state of a table beside its objects."""

from bisect import bisect_left, insort
from typing import Final

import msgspec

from hive.names import TableName
from hive.write_ids.view import WriteIdView
from state.loads import Cold, Doubt, Loads
from state.records.actions import MISNAMED_EVENTS_MAX
from state.records.objects import TableImage

UNKNOWN_IDS: Final = 1 << 62
"""A `pending_upto` above every write id: a write was folded while the open ids were unknown."""


DOUBTFUL_MAX: Final = 256
"""The most objects in doubt; with more, the whole table is loaded again."""
FORMER_NAMES_MAX: Final = 8

ANY_TABLE: Final = TableName("", "", "")
"""Among a table's former names: it may have had any."""

TABLE_ROW: Final = ()
"""The name of the table itself among its doubtful objects; partitions are named by their values."""


class Doubtful(msgspec.Struct, frozen=True, array_like=True):
    """An object that has been unknown since an event."""

    event: int
    ordered: bool
    """Whether that event's writer had locked the object's row."""


class Truncation(msgspec.Struct, frozen=True, array_like=True):
    """A truncation of a table that may not be stored yet."""

    event: int
    figures: int
    """The fingerprint of what it stores."""
    reads: int = 0
    """How often the table was read with other figures."""


class FormerName(msgspec.Struct, frozen=True, array_like=True):
    """The name of a table before a rename."""

    name: TableName
    event: int
    """The event of the rename."""


class TableState(msgspec.Struct, array_like=True):
    """The state of one table of a shard."""

    loads: Loads
    """The loads of everything but the write ids."""
    ids_loads: Loads
    """The loads of write ids alone; a load of the table brings them too."""
    id: int = 0
    """The id of the table; 0 when unknown."""
    managed: bool = False
    partitioned: bool = True
    detailed: bool = False
    """Whether the table has ever had statistics or constraints."""
    statistics_floor: int = 0
    """The last event whose effects on statistics can't be known."""
    statistics_doubt: Doubt = Doubt.NONE
    pending: list[int] = []
    """The write ids of folded writes, sorted; a write is pending while its id is open. Ended ones
    are dropped at times."""
    pending_upto: int = 0
    """The highest write id when a write without an id was folded, which is pending while any id up
    to this one is open."""
    doubtful: dict[tuple[str, ...], Doubtful] = {}
    """The unknown objects of a known table: `TABLE_ROW`, or partitions by the values in their
    names. They have no entries. A reread brings them back."""
    former_names: list[FormerName] = []
    """The former names of the table: events after the rename may still use them."""
    truncation: Truncation | None = None
    """The last alter of the table, if it was a truncation whose result hasn't been seen yet."""
    partitions_renamed: int = -1
    """The last event that gave a partition other values; -1 if none did."""

    def cold(self, applied: int, shard_floor: int) -> Cold | None:
        """Why the table as a whole can't be answered; None when it is warm."""
        cold = self.loads.cold(applied, shard_floor)
        return Cold.DOUBT if cold is None and self.doubtful else cold

    def why_cold(self, applied: int, shard_floor: int) -> str | None:
        """Why the table is cold, in a word or two; None when it is warm."""
        cold = self.loads.cold(applied, shard_floor)
        if cold is not None:
            return self.loads.describe(cold)
        return f"{Cold.DOUBT}: {Doubt.CONFLICT}" if self.doubtful else None

    def statistics_cold(self, applied: int, shard_floor: int) -> Cold | None:
        """Why statistics can't be answered; None when they can."""
        cold = self.cold(applied, shard_floor)
        if cold is not None:
            return cold
        return None if self.statistics_are_known(applied, shard_floor) else Cold.DOUBT

    def statistics_are_known(self, applied: int, shard_floor: int) -> bool:
        """Whether the stored statistics are all that there are, even while single objects are in
        doubt: a reread brings those back, but no statistics.
        """
        if self.loads.cold(applied, shard_floor) is not None:
            return False
        ended = self.loads.ended
        return not ended or ended.lo >= self.statistics_floor

    def describe(self, image: TableImage) -> None:
        """Takes over fields of the table's newest image."""
        self.id = image.id or self.id
        self.managed = image.managed
        self.partitioned = image.partitioned

    def note_former_name(self, former: FormerName) -> None:
        """Notes a name that late events may use; if there are too many, it may be any."""
        oldest = former.event - MISNAMED_EVENTS_MAX
        names = [
            other
            for other in self.former_names
            if other.name != former.name and other.event >= oldest
        ]
        if len(names) < FORMER_NAMES_MAX:
            self.former_names = [*names, former]
        else:
            self.former_names = [FormerName(ANY_TABLE, former.event)]

    def await_id(self, write_id: int) -> bool:
        """Notes a write with this id; returns whether it is the first one."""
        if self.has_written(write_id):
            return False
        insort(self.pending, write_id)
        return True

    def has_written(self, write_id: int) -> bool:
        """Whether a write with this id was noted and not dropped since."""
        at = bisect_left(self.pending, write_id)
        return at < len(self.pending) and self.pending[at] == write_id

    def drop_ended(self, ids: WriteIdView) -> None:
        """Drops the ids that are no longer open in a known list."""
        self.pending = list(filter(ids.is_open, self.pending))

    def is_pending(self, ids: WriteIdView) -> bool:
        """Whether a folded write has yet to commit or abort."""
        if not ids.open_count:
            return False
        least = ids.min_open()
        if least is not None and least <= self.pending_upto:
            return True
        return any(map(ids.is_open, self.pending))


_decoder = msgspec.msgpack.Decoder(TableState)
_encoder = msgspec.msgpack.Encoder()


def encode(state: TableState) -> bytes:
    return _encoder.encode(state)


def decode(value: bytes) -> TableState:
    return _decoder.decode(value)
