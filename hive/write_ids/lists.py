"""A reader's write-id list: the write ids of one table that its snapshot contains."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import final

from hive.write_ids.ids import Ids

LONG_MAX = (1 << 63) - 1
NO_IDS = Ids()


@final
@dataclass(frozen=True, slots=True)
class WriteIdList:
    """A list in which write ids 1 to `hwm` are committed unless they are open or aborted.

    It keeps odd input as Hive does: a `min_open` that isn't the least open id, ids above `hwm`, an
    id that is open and aborted at once.
    """

    hwm: int
    open: Ids = NO_IDS
    aborted: Ids = NO_IDS
    min_open: int = LONG_MAX
    table: str | None = None
    """`db.table` as the reader wrote it."""
    exceptions: Ids = field(init=False, repr=False, compare=False)
    """Open and aborted ids together."""
    unfinished: Ids = field(init=False, repr=False, compare=False)
    """Open ids that aren't listed as aborted too."""

    def __post_init__(self) -> None:
        both = set(self.open) & set(self.aborted) if self.open and self.aborted else set()
        every = Ids([*self.open, *self.aborted]) if self.aborted else self.open
        object.__setattr__(self, "exceptions", every)
        rest = Ids(id_ for id_ in self.open if id_ not in both) if both else self.open
        object.__setattr__(self, "unfinished", rest)

    @property
    def is_snapshot(self) -> bool:
        """Whether the list restricts anything: outside of transactions, Hive writes the greatest
        long as `hwm`."""
        return self.hwm != LONG_MAX

    def is_valid(self, write_id: int) -> bool:
        return write_id <= self.hwm and write_id not in self.exceptions


def write_id_list(
    hwm: int,
    open_ids: Iterable[int] = (),
    aborted_ids: Iterable[int] = (),
    table: str | None = None,
) -> WriteIdList:
    """The list as Hive would make it, which stores the least open id separately."""
    ids = Ids(open_ids)
    return WriteIdList(hwm, ids, Ids(aborted_ids), ids[0] if ids else LONG_MAX, table)
